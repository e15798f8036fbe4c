#![allow(unused)]
macro_rules! assert { ($($anything:tt)*) => {}; }
macro_rules! assert_eq { ($($anything:tt)*) => {}; }
macro_rules! assert_ne { ($($anything:tt)*) => {}; }
