pub fn build_proverb(list: &[&str]) -> String {
    todo!("build a proverb from this list of items: {list:?}")
}
