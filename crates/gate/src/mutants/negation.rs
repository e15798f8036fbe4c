//! The opposites of assertions, by their names.

/// An assertion's name, and what says the opposite of the same arguments.
///
/// Each pair is read in both directions.
const OPPOSITES: &[(&str, &str)] = &[
    // unittest, JUnit, PHPUnit, kotlin.test
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
    // XCTest
    ("XCTAssertEqual", "XCTAssertNotEqual"),
    ("XCTAssertTrue", "XCTAssertFalse"),
    ("XCTAssertNil", "XCTAssertNotNil"),
    ("XCTAssertThrowsError", "XCTAssertNoThrow"),
    // node:assert and chai
    ("strictEqual", "notStrictEqual"),
    ("deepEqual", "notDeepEqual"),
    ("deepStrictEqual", "notDeepStrictEqual"),
    // minitest
    ("assert_equal", "refute_equal"),
    ("assert_nil", "refute_nil"),
    ("assert_includes", "refute_includes"),
    ("assert_empty", "refute_empty"),
    ("assert_in_delta", "refute_in_delta"),
    ("assert_match", "refute_match"),
    ("assert_instance_of", "refute_instance_of"),
    ("assert_kind_of", "refute_kind_of"),
    ("assert_same", "refute_same"),
    ("must_equal", "wont_equal"),
    ("must_be_nil", "wont_be_nil"),
    ("must_include", "wont_include"),
    // GoogleTest, Catch2, Unity
    ("EXPECT_EQ", "EXPECT_NE"),
    ("ASSERT_EQ", "ASSERT_NE"),
    ("EXPECT_TRUE", "EXPECT_FALSE"),
    ("ASSERT_TRUE", "ASSERT_FALSE"),
    ("EXPECT_STREQ", "EXPECT_STRNE"),
    ("ASSERT_STREQ", "ASSERT_STRNE"),
    ("EXPECT_LT", "EXPECT_GE"),
    ("EXPECT_GT", "EXPECT_LE"),
    ("ASSERT_LT", "ASSERT_GE"),
    ("ASSERT_GT", "ASSERT_LE"),
    ("REQUIRE", "REQUIRE_FALSE"),
    ("CHECK", "CHECK_FALSE"),
    ("TEST_ASSERT_TRUE", "TEST_ASSERT_FALSE"),
    ("TEST_ASSERT_NULL", "TEST_ASSERT_NOT_NULL"),
    // MSTest and NUnit
    ("AreEqual", "AreNotEqual"),
    ("AreSame", "AreNotSame"),
    ("IsTrue", "IsFalse"),
    ("IsNull", "IsNotNull"),
    // AssertJ
    ("isEqualTo", "isNotEqualTo"),
    ("isTrue", "isFalse"),
    ("isNull", "isNotNull"),
    ("isEmpty", "isNotEmpty"),
    ("isSameAs", "isNotSameAs"),
    // kotest
    ("shouldBe", "shouldNotBe"),
    // bats
    ("assert_success", "assert_failure"),
    ("assert_output", "refute_output"),
    ("assert_line", "refute_line"),
];

/// Names that mean something only after `assert.` or `require.`.
const AFTER_ASSERT: &[(&str, &str)] = &[
    // testify
    ("Equal", "NotEqual"),
    ("EqualValues", "NotEqualValues"),
    ("Same", "NotSame"),
    ("True", "False"),
    ("Nil", "NotNil"),
    ("NoError", "Error"),
    ("Contains", "NotContains"),
    ("Empty", "NotEmpty"),
    ("ElementsMatch", "NotElementsMatch"),
    // node:assert, chai and tape
    ("equal", "notEqual"),
    ("isNull", "isNotNull"),
    ("include", "notInclude"),
    ("throws", "doesNotThrow"),
    ("rejects", "doesNotReject"),
    ("match", "doesNotMatch"),
];

/// Names of xUnit.net after `Assert.`.
const AFTER_CAPITAL_ASSERT: &[(&str, &str)] = &[
    ("Equal", "NotEqual"),
    ("Same", "NotSame"),
    ("True", "False"),
    ("Null", "NotNull"),
    ("Contains", "DoesNotContain"),
    ("Empty", "NotEmpty"),
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
    ("assertArrayEquals", None),
    ("assertIterableEquals", None),
    ("assertContentEquals", None),
    ("assertLinesMatch", None),
    ("assertJsonStringEqualsJsonString", None),
    ("TEST_ASSERT_EQUAL", None),
    ("TEST_ASSERT_EQUAL_INT", None),
    ("TEST_ASSERT_EQUAL_UINT", None),
    ("TEST_ASSERT_EQUAL_STRING", None),
    ("TEST_ASSERT_EQUAL_CHAR", None),
    ("SequenceEqual", None),
];

/// Names that say that the first two arguments are equal.
const EQUALITY: &[&str] = &[
    "assertEqual",
    "assertEquals",
    "assertIs",
    "assertSame",
    "assert_eq",
    "XCTAssertEqual",
    "strictEqual",
    "deepEqual",
    "deepStrictEqual",
    "assert_equal",
    "EXPECT_EQ",
    "ASSERT_EQ",
    "EXPECT_STREQ",
    "ASSERT_STREQ",
    "AreEqual",
];

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
            is_equality: EQUALITY.contains(&name),
        });
    }
    let pairs = match owner? {
        "assert" | "require" => AFTER_ASSERT,
        "Assert" => AFTER_CAPITAL_ASSERT,
        // That of tape: `t.Error` of Go is no assertion.
        "t" if name.starts_with(|c: char| c.is_lowercase()) => AFTER_ASSERT,
        _ => return None,
    };
    Some(Meaning {
        opposite: Some(opposite(pairs, name)?),
        is_equality: matches!(name, "Equal" | "EqualValues" | "equal"),
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
