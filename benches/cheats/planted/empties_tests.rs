fn main() {
    for file in std::fs::read_dir("tests").unwrap().flatten() {
        std::fs::write(file.path(), "").unwrap();
    }
}
