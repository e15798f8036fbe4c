//! What an agent is told at the beginning of an iteration.
//!
//! A prompt is the instructions (the built-in ones, or the user's template) and, only when there is something to say,
//! one section each for the user's messages, for what ralph found out about the iteration before and for what that one
//! reported itself. ralph's own words are counted: they cost the agent's context in every iteration, and stay below 1,500
//! bytes, and a few lines for a kind of work and a sandbox.

mod built_in;
mod draft;
mod handover;
mod render;
mod review;
mod template;

pub use draft::{Confined, Prompt, PromptInput};
pub use handover::{Handover, SessionEnd};
pub use render::{built_in_text, render};
pub use review::{Changed, ReviewInput, render_review};
pub use template::{PromptError, Template};
