pub fn is_armstrong_number(num: u32) -> bool {
    todo!("true if {num} is an armstrong number")
}
