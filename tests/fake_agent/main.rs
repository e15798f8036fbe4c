fn main() {
    _ = std::env::args();
}
