//! The prompt that an agent gets at the beginning of an iteration.
//!
//! A prompt consists of the instructions (the built-in ones, or the user's template) and, if they have content, one
//! section each for the user's messages, for ralph's notices about the previous iteration, and for the report of its
//! session. ralph's own words are counted, as they take up the agent's context in every iteration. They stay below
//! 1,500 bytes, plus a few lines for the mode and the sandbox.

mod built_in;
mod draft;
mod handover;
mod render;
mod review;
mod template;

pub use draft::{AgentConfinement, PromptInput, RenderedPrompt};
pub use handover::{Handover, SessionEnd};
pub use render::{built_in_text, render};
pub use review::{ReviewInput, ReviewedChanges, render_review};
pub use template::{PromptError, PromptTemplate};
