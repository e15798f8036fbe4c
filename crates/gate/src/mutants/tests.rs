use super::*;

/// The changed lines of the mutants of a test file.
fn expectations(path: &str, text: &str) -> Vec<String> {
    lines_after(&test_mutants(path, text, 1))
}

/// The changed lines of the mutants of work.
fn changes(path: &str, text: &str) -> Vec<String> {
    lines_after(&work_mutants(path, text, &[1..=u32::MAX], 1))
}

fn lines_after(mutations: &[Mutation]) -> Vec<String> {
    let mut lines: Vec<String> = mutations
        .iter()
        .map(|mutation| mutation.mutant.after.to_string())
        .collect();
    lines.sort();
    lines
}

/// A test of Python around a body.
fn unittest(body: &str) -> String {
    format!("class T(unittest.TestCase):\n    def test_it(self):\n        {body}\n")
}

#[test]
fn an_expected_number_is_altered_and_its_assertion_turned_round() {
    let found = expectations("a_test.py", &unittest("self.assertEqual(f(3), 5)"));
    assert_eq!(found, ["self.assertEqual(f(3), 4)", "self.assertNotEqual(f(3), 5)"]);
}

#[test]
fn the_value_that_is_written_out_is_altered_whichever_side_it_is_on() {
    for (path, text, altered, opposite) in [
        (
            "a_test.py",
            "def test_a():\n    assert f(1) == [7]\n",
            "assert f(1) == [6]",
            "assert not (f(1) == [7])",
        ),
        (
            "a.test.js",
            "test('a', () => {\n  expect(f(1)).toEqual('abc');\n});\n",
            "expect(f(1)).toEqual('abd');",
            "expect(f(1)).not.toEqual('abc');",
        ),
        (
            "a.test.ts",
            "it('a', () => expect(f(1)).toBe(true));\n",
            "it('a', () => expect(f(1)).toBe(false));",
            "it('a', () => expect(f(1)).not.toBe(true));",
        ),
        (
            "a.test.mjs",
            "test('a', () => {\n  assert.strictEqual(f(1), 3);\n});\n",
            "assert.strictEqual(f(1), 2);",
            "assert.notStrictEqual(f(1), 3);",
        ),
        (
            "a.spec.js",
            "it('a', () => {\n  expect(f(1)).to.deep.equal(3);\n});\n",
            "expect(f(1)).to.deep.equal(2);",
            "expect(f(1)).to.not.deep.equal(3);",
        ),
        (
            "tests/a.rs",
            "#[test]\nfn a() {\n    assert_eq!(f(1), Some(5));\n}\n",
            "assert_eq!(f(1), Some(4));",
            "assert_ne!(f(1), Some(5));",
        ),
        (
            "a_test.go",
            "func TestA(t *testing.T) {\n\tif got := f(1); got != 5 {\n\t\tt.Errorf(\"got %d\", got)\n\t}\n}\n",
            "if got := f(1); got != 4 {",
            "if got := f(1); !(got != 5) {",
        ),
        (
            "a_test.go",
            "func TestA(t *testing.T) {\n\tif !reflect.DeepEqual(f(1), []string{`abc`}) {\n\t\tt.Fatal()\n\t}\n}\n",
            "if !reflect.DeepEqual(f(1), []string{`abd`}) {",
            "if !(!reflect.DeepEqual(f(1), []string{`abc`})) {",
        ),
        (
            "a_test.go",
            "func TestA(t *testing.T) {\n\tfor _, c := range cases {\n\t\tt.Run(c.name, func(t *testing.T) {\n\t\t\tif \
             !f(c.in).Equal(Price{5}) {\n\t\t\t\tt.Error()\n\t\t\t}\n\t\t})\n\t}\n}\n",
            "if !f(c.in).Equal(Price{4}) {",
            "if !(!f(c.in).Equal(Price{5})) {",
        ),
    ] {
        let found = test_mutants(path, text, 1);
        let after: Vec<&str> = found.iter().map(|mutation| mutation.mutant.after.as_str()).collect();
        assert_eq!(after, [altered, opposite], "{path}: {text}");
        let kinds: Vec<MutationKind> = found.iter().map(|mutation| mutation.kind).collect();
        assert_eq!(kinds, [MutationKind::Literal, MutationKind::Negation]);
    }
}

#[test]
fn an_assertion_over_several_lines_has_both_mutants() {
    let text = "#[test]\nfn a() {\n    assert_eq!(\n        f(\n            1,\n        ),\n        vec![\n            7,\n        ],\n    );\n}\n";
    assert_eq!(expectations("tests/a.rs", text), ["6,", "assert_ne!("]);
    let text = "#[test]\nfn a() {\n    assert!(\n        f(1, 2)\n    );\n}\n";
    let found = test_mutants("tests/a.rs", text, 1);
    assert!(found[0].text.contains("!(f(1, 2))"), "{}", found[0].text);
}

#[test]
fn a_variable_that_is_used_for_nothing_else_is_altered_where_it_gets_its_value() {
    let text = "#[test]\nfn a() {\n    let input = vec![1];\n    let expected = vec![7];\n    assert_eq!(f(&input), expected);\n}\n";
    assert_eq!(
        expectations("tests/a.rs", text),
        ["assert_ne!(f(&input), expected);", "let expected = vec![6];"]
    );
    let shared = "#[test]\nfn a() {\n    let x = 7;\n    assert_eq!(f(x), x);\n}\n";
    assert_eq!(expectations("tests/a.rs", shared), ["assert_ne!(f(x), x);"]);
}

#[test]
fn what_is_not_surely_the_expected_value_is_left_alone() {
    for (assertion, opposite) in [
        ("self.assertNotEqual(f(3), 5)", "self.assertEqual(f(3), 5)"),
        ("self.assertIn(f(3), [1, 2])", "self.assertNotIn(f(3), [1, 2])"),
        (
            "self.assertAlmostEqual(f(3), 5.0)",
            "self.assertNotAlmostEqual(f(3), 5.0)",
        ),
        ("assert f(3) == 5 or g(3) == 6", "assert not (f(3) == 5 or g(3) == 6)"),
        ("assert f(3) > 5, 'too small'", "assert not (f(3) > 5), 'too small'"),
    ] {
        assert_eq!(expectations("a_test.py", &unittest(assertion)), [opposite]);
    }
    for (condition, opposite) in [
        (
            "reflect.DeepEqual(f(1), []int{5})",
            "if !(reflect.DeepEqual(f(1), []int{5})) {",
        ),
        ("!valid(5)", "if !(!valid(5)) {"),
        ("f(1) != 5 || g(1) != 6", "if !(f(1) != 5 || g(1) != 6) {"),
        ("f(1) < 5", "if !(f(1) < 5) {"),
        ("f(1) != want", "if !(f(1) != want) {"),
    ] {
        let go = format!("func TestA(t *testing.T) {{\n\tif {condition} {{\n\t\tt.Error()\n\t}}\n}}\n");
        assert_eq!(expectations("a_test.go", &go), [opposite]);
    }
}

#[test]
fn an_expected_value_that_is_computed_is_replaced() {
    for (path, text, replaced) in [
        (
            "a_test.py",
            unittest("self.assertEqual(f(date(1)), date(2))"),
            "self.assertEqual(f(date(1)), \"another value\")",
        ),
        (
            "a_test.py",
            unittest("self.assertEqual(None, f(1))"),
            "self.assertEqual(\"another value\", f(1))",
        ),
        (
            "a_test.py",
            unittest("self.assertEqual(f(1), Color.RED)"),
            "self.assertEqual(f(1), \"another value\")",
        ),
        (
            "a_test.py",
            unittest("assert f(3) == approx(5), 'far'"),
            "assert f(3) == \"another value\", 'far'",
        ),
        (
            "a.test.js",
            "test('a', () => {\n  expect(f(1)).toEqual(date(2));\n});\n".to_owned(),
            "expect(f(1)).toEqual(\"another value\");",
        ),
    ] {
        let found = expectations(path, &text);
        assert!(found.iter().any(|line| line == replaced), "{found:?}");
    }
    // Rust compares values of the same type only.
    let rust = "#[test]\nfn a() {\n    assert_eq!(f(1), date(2));\n}\n";
    assert_eq!(expectations("tests/a.rs", rust), ["assert_ne!(f(1), date(2));"]);
}

#[test]
fn tests_that_are_not_run_have_no_mutants() {
    for (path, text) in [
        (
            "a_test.py",
            "@unittest.skip('later')\ndef test_a():\n    assert f(1) == 5\n",
        ),
        (
            "a_test.py",
            "class T:\n    @pytest.mark.xfail\n    def test_a(self):\n        assert f(1) == 5\n",
        ),
        (
            "a_test.py",
            "@skip\nclass T:\n    def test_a(self):\n        assert f(1) == 5\n",
        ),
        (
            "a_test.py",
            "def test_a():\n    pytest.skip('later')\n    assert f(1) == 5\n",
        ),
        ("a_test.py", "def test_a():\n    # assert f(1) == 5\n    pass\n"),
        (
            "a_test.py",
            "def test_a():\n    def cli(name):\n        assert f(1) == 5\n\n    run(cli)\n",
        ),
        (
            "a.test.js",
            "test('a', () => {\n  function on(name) {\n    expect(f(1)).toBe(5);\n  }\n  run(on);\n});\n",
        ),
        ("a_test.py", "def test_a():\n    if linux:\n        assert f(1) == 5\n"),
        (
            "a_test.py",
            "def test_a():\n    with pytest.raises(errors):\n        assert f(1) == 5\n",
        ),
        (
            "tests/a.rs",
            "#[test]\n#[ignore]\nfn a() {\n    assert_eq!(f(1), 5);\n}\n",
        ),
        (
            "tests/a.rs",
            "#[test]\n#[ignore = \"later\"]\nfn a() {\n    assert_eq!(f(1), 5);\n}\n",
        ),
        (
            "tests/a.rs",
            "#[cfg(feature = \"big\")]\n#[test]\nfn a() {\n    assert_eq!(f(1), 5);\n}\n",
        ),
        (
            "src/a.rs",
            "fn f() {\n    assert!(x);\n}\n\n#[cfg(test)]\nmod tests {}\n",
        ),
        ("a.test.js", "xtest('a', () => {\n  expect(f(1)).toBe(5);\n});\n"),
        ("a.test.js", "xit('a', () =>\n  expect(f(1)).toBe(5));\n"),
        (
            "a.test.js",
            "describe.skip('a', () => {\n  test('b', () => {\n    expect(f(1)).toBe(5);\n  });\n});\n",
        ),
        ("a.test.js", "test.skip('a', () => {\n  expect(f(1)).toBe(5);\n});\n"),
        ("a.test.js", "/*\ntest('a', () => {\n  expect(f(1)).toBe(5);\n});\n*/\n"),
        (
            "a_test.go",
            "func TestA(t *testing.T) {\n\tt.Skip()\n\tif f(1) != 5 {\n\t\tt.Fatal()\n\t}\n}\n",
        ),
        (
            "a_test.go",
            "func BenchmarkA(t *testing.B) {\n\tif f(1) != 5 {\n\t\tt.Fatal()\n\t}\n}\n",
        ),
        (
            "a_test.go",
            "func TestA(t *testing.T) {\n\tif runtime.GOOS != \"js\" {\n\t\tif f(1) != 5 {\n\t\t\tt.Fatal()\n\t\t}\n\t}\n}\n",
        ),
        (
            "a_test.go",
            "func TestA(t *testing.T) {\n\tserve(func(path string) {\n\t\tif path != \"/\" {\n\t\t\tt.Error()\n\t\t}\n\t})\n}\n",
        ),
        (
            "a_test.go",
            "func TestA(t *testing.T) {\n\tselect {\n\tdefault:\n\t\tif f(1) != 5 {\n\t\t\tt.Fatal()\n\t\t}\n\t}\n}\n",
        ),
    ] {
        assert_eq!(expectations(path, text), [""; 0], "{text}");
    }
}

#[test]
fn assertions_in_a_function_that_a_test_calls_are_altered() {
    let text = "def test_a():\n    def check(name):\n        assert f(name) == 5\n\n    check(1)\n";
    assert_ne!(expectations("a_test.py", text), [""; 0]);
}

#[test]
fn only_the_tests_that_are_run_alone_have_mutants() {
    let text =
        "test('a', () => {\n  expect(f(1)).toBe(a);\n});\ntest.only('b', () => {\n  expect(f(1)).toBe(b);\n});\n";
    assert_eq!(
        expectations("a.test.js", text),
        ["expect(f(1)).not.toBe(b);", "expect(f(1)).toBe(\"another value\");"]
    );
}

#[test]
fn a_test_that_has_to_panic_loses_its_attribute() {
    let text = "#[test]\n#[should_panic(expected = \"no\")]\nfn a() {\n    f(1);\n}\n";
    let found = test_mutants("tests/a.rs", text, 1);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].text, "#[test]\n\nfn a() {\n    f(1);\n}\n");
    let ignored = text.replace("#[test]\n", "#[test]\n#[ignore]\n");
    assert_eq!(test_mutants("tests/a.rs", &ignored, 1), []);
}

#[test]
fn the_type_of_an_error_is_altered_last() {
    let text = "def test_a():\n    with pytest.raises(ValueError):\n        f(1)\n    assert g(1)\n";
    let after: Vec<String> = test_mutants("a_test.py", text, 1)
        .into_iter()
        .map(|mutation| mutation.mutant.after.into())
        .collect();
    assert_eq!(after, ["assert not (g(1))", "with pytest.raises(ZeroDivisionError):"]);
}

#[test]
fn cases_in_tables_are_altered() {
    let python =
        "@pytest.mark.parametrize('x, expected', [(1, 5)])\ndef test_a(x, expected):\n    assert f(x) == expected\n";
    let found = expectations("a_test.py", python);
    assert!(found[0].contains("(1, 4)"), "{found:?}");
}

#[test]
fn literals_come_before_opposites_and_tests_take_turns() {
    let tests: String = (1..=4)
        .map(|n| format!("def test_{n}():\n    assert f({n}) == {n}0\n\n"))
        .collect();
    let found = test_mutants("a_test.py", &tests, 7);
    let kinds: Vec<MutationKind> = found.iter().map(|mutation| mutation.kind).collect();
    assert_eq!(
        kinds,
        [[MutationKind::Literal; 4], [MutationKind::Negation; 4]].concat()
    );
    for of_kind in found.chunks(4) {
        let mut lines: Vec<u32> = of_kind.iter().map(|mutation| mutation.mutant.line).collect();
        lines.sort_unstable();
        assert_eq!(lines, [2, 5, 8, 11]);
    }
    assert_eq!(found, test_mutants("a_test.py", &tests, 7));
    assert_ne!(found, test_mutants("a_test.py", &tests, 8));
}

#[test]
fn work_is_changed_in_small_ways() {
    for (path, line, expected) in [
        (
            "a.py",
            "    if x == 1:",
            vec!["if not (x == 1):", "if x != 1:", "if x == 2:"],
        ),
        ("a.py", "    return a and b", vec!["return None", "return a or b"]),
        ("a.py", "    self.total += x", vec!["pass", "self.total -= x"]),
        ("a.py", "    return x not in y", vec!["return None", "return x in y"]),
        (
            "a.rs",
            "    if x < 1 {",
            vec!["if !(x < 1) {", "if x < 2 {", "if x >= 1 {"],
        ),
        ("a.rs", "    let x: Vec<u8> = a - b;", vec!["let x: Vec<u8> = a + b;"]),
        ("a.rs", "    list.push(x);", vec![""]),
        ("a.js", "  return a + b;", vec!["return a - b;", "return null;"]),
        (
            "a.js",
            "  if (a || !b) {",
            vec!["if (!(a || !b)) {", "if (a && !b) {", "if (a || b) {"],
        ),
        ("a.go", "\tif a != b {", vec!["if !(a != b) {", "if a == b {"]),
        ("a.go", "\treturn a + b", vec!["return a - b"]),
    ] {
        assert_eq!(changes(path, &format!("{line}\n")), expected, "{line}");
    }
}

#[test]
fn what_is_no_work_is_left_alone() {
    for (path, text) in [
        ("a.py", "# x == 1\nimport a1\nfrom b import c\n"),
        ("a.go", "package a\n\nimport (\n\t\"b/c\"\n)\n"),
        ("a.py", "def f(x):\n    \"\"\"Tells whether x == 1.\"\"\"\n"),
        ("a.rs", "use a::b;\n// x == 1\n/* 1 /* 2 */ 3 */\n#[cfg(a = \"b\")]\n"),
        (
            "a.rs",
            "#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() {\n        assert_eq!(f(1), 5);\n    }\n}\n",
        ),
    ] {
        assert_eq!(changes(path, text), [""; 0], "{text}");
    }
}

#[test]
fn texts_of_work_are_changed_where_nothing_else_is_left() {
    let found = work_mutants("a.py", "x = f('abc', 1)\n", &[1..=1], 1);
    let after: Vec<&str> = found.iter().map(|mutation| mutation.mutant.after.as_str()).collect();
    assert_eq!(after, ["x = f('abc', 2)", "x = f('abd', 1)"]);
}

#[test]
fn code_in_languages_that_no_bench_measures_has_no_mutants() {
    for (path, test) in [
        ("ATest.java", "@Test\nvoid a() {\n    assertEquals(5, f(1));\n}\n"),
        ("a_spec.rb", "it 'adds' do\n  expect(f(1)).to eq 5\nend\n"),
        ("Makefile", "x = 1\n"),
        ("a.unknown", "assertEqual(f(1), 5)\n"),
    ] {
        assert!(!has_mutants(path), "{path}");
        assert_eq!(
            (expectations(path, test), changes(path, test)),
            (Vec::new(), Vec::new()),
            "{path}"
        );
    }
    for path in ["a.py", "b/a.rs", "a.mjs", "a.test.tsx", "a_test.go"] {
        assert!(has_mutants(path), "{path}");
    }
}

#[test]
fn each_line_of_work_has_a_mutant_before_one_has_two() {
    let text = "a = b == 1\nc = d and e\nf = 3\ng = 4\n";
    let found = work_mutants("a.py", text, &[1..=2, 4..=4], 1);
    let mut lines: Vec<u32> = found.iter().map(|mutation| mutation.mutant.line).collect();
    lines[..3].sort_unstable();
    assert_eq!(lines, [1, 2, 4, 1]);
}

#[test]
fn a_file_that_is_cut_anywhere_is_read() {
    let samples = [
        (
            "a.rs",
            "fn f<'a>(x: &'a str) -> char { let r = r#\"a\"b\"#; /* é */ match x { \"ü\\\"\" => '\\'', _ => 'ö' } }\n",
        ),
        (
            "a.js",
            "const x = `a ${b ? `c` : '}'} d`; // é\nexpect(/[/\"]/.test(x)).toBe(true);\n",
        ),
        (
            "a.py",
            "def test_a():\n    '''é'''\n    assert f(rb'\\x', f\"{x}\") == [1_000, 0x1f, 1e-5, 'ü']\n",
        ),
    ];
    for (path, text) in samples {
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            let _ = test_mutants(path, &text[..end], 1);
            let _ = work_mutants(path, &text[..end], &[1..=9], 1);
        }
    }
}

#[test]
fn another_number_is_surely_another_number() {
    for (number, other) in [
        ("0", "1"),
        ("255u8", "254u8"),
        ("0u32", "1u32"),
        ("0.25", "1.25"),
        ("0x1f", "0x0f"),
        ("007", "006"),
        ("10", "9"),
        ("1_000", "2_000"),
        ("9007199254740993", "1007199254740993"),
        ("1e400", "0e400"),
    ] {
        assert_eq!(literal::number(number).as_deref(), Some(other));
    }
}

/// The altered lines of each test.
fn by_test(path: &str, text: &str) -> Vec<Vec<String>> {
    let tests = expectations_by_test(path, text, 2);
    let lines = |mutations: Vec<Mutation>| mutations.into_iter().map(|one| one.mutant.after.to_string()).collect();
    tests.into_iter().map(lines).collect()
}

#[test]
fn each_test_has_two_altered_expectations_of_which_literals_come_first() {
    let text = "class T(unittest.TestCase):
    def test_one(self):
        self.assertEqual(f(3), 5)

    def test_two(self):
        self.assertTrue(f(1))
        self.assertEqual(f(1), 2)
        self.assertEqual(f(2), 9)
";
    assert_eq!(
        by_test("a_test.py", text),
        [
            ["self.assertEqual(f(3), 4)", "self.assertEqual(f(3), 3)"],
            ["self.assertEqual(f(1), 1)", "self.assertEqual(f(2), 8)"],
        ]
    );
    let tests = expectations_by_test("a_test.py", text, 2);
    assert_eq!(tests.iter().map(|test| test[0].test).collect::<Vec<_>>(), [2, 5]);
    let firsts: Vec<&Mutation> = tests.iter().map(|test| &test[0]).collect();
    let both = Mutation::all_in(text, &firsts).unwrap();
    assert!(both.contains("f(3), 4)") && both.contains("f(1), 1)"), "{both}");
    assert_eq!(Mutation::all_in(text, &[&tests[0][0], &tests[0][1]]), None);
}

#[test]
fn assertions_of_the_project_are_altered_in_tests_that_have_no_others() {
    for (path, text, expected) in [
        (
            "src/lib.rs",
            "#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        check_eq!(add(1, 2), 3);\n        request(url(), 3);\n    }\n}\n",
            vec!["check_eq!(add(1, 2), 2);"],
        ),
        (
            "a_test.go",
            "func TestA(t *testing.T) {\n\tassert.Equal(t, \"abc\", f(1))\n\tassert.Equal(t, x, y)\n}\n",
            vec!["assert.Equal(t, \"abd\", f(1))"],
        ),
        (
            "a.test.js",
            "test('a', () => {\n  expectSame(f(1), 'abc');\n  same(g(), 4);\n  write(h(), 5);\n});\n",
            vec!["expectSame(f(1), 'abd');", "same(g(), 3);"],
        ),
        (
            "a.test.js",
            "test('a', () => {\n  expectSame(f(1), 'abc');\n  assert.equal(g(), 4);\n});\n",
            vec!["assert.equal(g(), 3);", "assert.equal(g(), 2);"],
        ),
        (
            "a_test.py",
            "def test_a():\n    assert f() == {\"x\": 1}\n\n\ndef test_b():\n    assert f() == \"9\"\n\n\ndef test_c():\n    assert f() == 0\n",
            vec![
                "assert f() == {\"x\": 0}",
                "assert f() == {\"x\": 3}",
                "assert f() == \"8\"",
                "assert f() == \"9x\"",
                "assert f() == 1",
                "assert f() == 2",
            ],
        ),
        (
            "a_test.py",
            "def test_a():\n    client.post(url(), 1)\n    x = check(f(), 2)\n",
            vec![],
        ),
    ] {
        let found = by_test(path, text).concat();
        assert_eq!(found, expected, "{path}: {text}");
    }
}
