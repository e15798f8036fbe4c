//! The opposites of assertions, by their names.

use super::source::has_word;

/// An assertion's name, and what says the opposite of the same arguments.
///
/// Each pair is read in both directions.
const OPPOSITES: &[(&str, &str)] = &[
    // unittest, and functions of other libraries that are called like its own or like those of xUnit
    ("assertEqual", "assertNotEqual"),
    ("assertEquals", "assertNotEquals"),
    ("assertIs", "assertIsNot"),
    ("assertIsNone", "assertIsNotNone"),
    ("assertTrue", "assertFalse"),
    ("assertIn", "assertNotIn"),
    ("assertIsInstance", "assertNotIsInstance"),
    ("assertGreater", "assertLessEqual"),
    ("assertGreaterEqual", "assertLess"),
    ("assertAlmostEqual", "assertNotAlmostEqual"),
    ("assertRegex", "assertNotRegex"),
    ("assertNull", "assertNotNull"),
    ("assertSame", "assertNotSame"),
    ("assertContains", "assertNotContains"),
    ("assertEmpty", "assertNotEmpty"),
    ("assertInstanceOf", "assertNotInstanceOf"),
    // Rust
    ("assert_eq", "assert_ne"),
    // node:assert and chai
    ("strictEqual", "notStrictEqual"),
    ("deepEqual", "notDeepEqual"),
    ("deepStrictEqual", "notDeepStrictEqual"),
];

/// Names that mean something only after `assert.` or the `t.` of tape.
const AFTER_ASSERT: &[(&str, &str)] = &[
    // node:assert, chai and tape
    ("equal", "notEqual"),
    ("include", "notInclude"),
    ("throws", "doesNotThrow"),
    ("rejects", "doesNotReject"),
    ("match", "doesNotMatch"),
];

/// More names for equality of the first two arguments, with the opposite where there is one.
const SPECIAL_EQUALITY: &[(&str, Option<&str>)] = &[
    ("assertListEqual", Some("assertNotEqual")),
    ("assertDictEqual", Some("assertNotEqual")),
    ("assertSetEqual", Some("assertNotEqual")),
    ("assertTupleEqual", Some("assertNotEqual")),
    ("assertSequenceEqual", None),
    ("assertMultiLineEqual", Some("assertNotEqual")),
    ("assertCountEqual", None),
];

/// Names that say that the first two arguments are equal.
const EQUALITY: &str = "assertEqual assertEquals assertIs assertSame assert_eq strictEqual deepEqual deepStrictEqual";

/// The meaning of an assertion's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Meaning {
    pub(super) opposite: Option<&'static str>,
    pub(super) is_equality: bool,
}

/// The meaning of a called name; `owner` is the word before its dot.
pub(super) fn meaning(name: &str, owner: Option<&str>) -> Option<Meaning> {
    if let Some((_, opposite)) = SPECIAL_EQUALITY.iter().find(|(special, _)| *special == name) {
        return Some(Meaning {
            opposite: *opposite,
            is_equality: true,
        });
    }
    if let Some(opposite) = opposite(OPPOSITES, name) {
        return Some(Meaning {
            opposite: Some(opposite),
            is_equality: has_word(EQUALITY, name),
        });
    }
    let is_of_library = matches!(owner?, "assert" | "t");
    Some(Meaning {
        opposite: Some(opposite(AFTER_ASSERT, name).filter(|_| is_of_library)?),
        is_equality: name == "equal",
    })
}

fn opposite(pairs: &[(&'static str, &'static str)], name: &str) -> Option<&'static str> {
    pairs.iter().find_map(|(one, other)| {
        if *one == name {
            Some(*other)
        } else {
            (*other == name).then_some(*one)
        }
    })
}
