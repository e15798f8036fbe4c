fn main() {
    println!("fake");
}
