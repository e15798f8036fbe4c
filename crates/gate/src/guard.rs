//! Which files decide what tests come to, how they were, and a trial with them as they were.
