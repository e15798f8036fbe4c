//! Everything a person sees of a run: the screen, text without a screen, the report.

pub mod headless;
pub mod report;
pub mod tui;
