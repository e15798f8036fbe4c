//! Test runners: what their output says of the tests that ran.
