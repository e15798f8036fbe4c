//! The name and version of the journal format, and the limit of its lines.

pub const FORMAT: &str = "ralph-journal";
/// The version that is written and read.
pub const VERSION: u32 = 1;
/// Most bytes of a line, its end included. Texts and lists of events are bounded far below it; the largest allowed plan
/// comes nearest.
pub const LINE_CAP_BYTES: usize = 16 << 20;
