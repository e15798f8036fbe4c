//! What an agent is told at the beginning of an iteration.
//!
//! A prompt is the instructions (the built-in ones, or the user's template) and, only when there is something to say,
//! one section each for the user's messages and for what ralph found out about the iteration before. ralph's own words
//! are counted: they cost the agent's context in every iteration, and stay below 1,500 bytes, and a line for a sandbox.

mod built_in;
mod draft;
mod render;
mod template;

pub use draft::{Confined, Prompt, PromptInput};
pub use render::render;
pub use template::{PromptError, Template};
