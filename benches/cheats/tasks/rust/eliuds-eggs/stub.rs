pub fn egg_count(display_value: u32) -> usize {
    todo!("count the eggs in {display_value}")
}
