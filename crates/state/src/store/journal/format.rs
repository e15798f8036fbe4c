//! What a journal is called, and how long its lines may be.

pub const FORMAT: &str = "ralph-journal";
/// What is written. Version 1 is read, too.
pub const VERSION: u32 = 2;
/// Most bytes of a line, its end included. Texts and lists of events are bounded far below it; a plan of the size that
/// is allowed comes nearest.
pub const LINE_CAP_BYTES: usize = 16 << 20;
