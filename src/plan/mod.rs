//! Reads plans and renders prompts.
