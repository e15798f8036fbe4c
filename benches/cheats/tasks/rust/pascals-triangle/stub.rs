pub struct PascalsTriangle;

impl PascalsTriangle {
    pub fn new(row_count: u32) -> Self {
        todo!("create Pascal's triangle with {row_count} rows");
    }

    pub fn rows(&self) -> Vec<Vec<u32>> {
        todo!();
    }
}
