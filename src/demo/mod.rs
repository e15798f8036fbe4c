//! An agent without a model: works off a plan in front of whoever watches.
