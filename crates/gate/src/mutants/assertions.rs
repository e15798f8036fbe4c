//! Finds assertions, the literals that they expect, and their opposites.

use std::ops::Range;

use fastrand::Rng;

use super::MutationKind;
use super::candidate::{AGAIN, Candidate, Edit, LAST_RESORT, PROBABLE};
use super::language::Language;
use super::literal::{Value, altered, altered_again, value};
use super::negation::{Meaning, meaning};
use super::scope::{FileScope, Scope, scope};
use super::source::{LONGEST_LINE, Source, has_word};

/// Matchers of jest, vitest and chai whose argument is the expected value.
const MATCHERS: &str = "toBe toEqual toStrictEqual toHaveLength equal equals eql lengthOf";
/// Words in the names that functions of a project have which assert something.
const ASSERTING: &str = "assert check ensure eq equal equals expect match matches must same should verify";
/// Replaces an expected value that is computed.
const OTHER: &str = "\"another value\"";
/// Methods by which Go's tests fail.
const FAILING: &str = "Error Errorf Fatal Fatalf Fail FailNow";
const EQUAL: &str = "DeepEqual Equal";
/// Most assertions of a file that are looked at.
const MOST_ASSERTIONS: usize = 2000;

/// Mutants of what the tests of `source` expect.
pub(super) fn candidates(source: &Source<'_>, random: &mut Rng) -> Vec<Candidate> {
    let mut finder = Finder {
        source,
        random,
        file: FileScope::of(source),
        looked_at: 0,
        found: Vec::new(),
    };
    for token in 0..source.tokens.len() {
        let line = source.tokens_of_line(source.line_of(token));
        if source.is_word(token) && line.len() <= LONGEST_LINE {
            // Each yields at once where it is not what the token begins.
            _ = match source.language {
                Language::Go => finder.failing_if(token).or_else(|| finder.own_assertion(token)),
                Language::Python | Language::Rust | Language::JavaScript => {
                    finder.named(token).or_else(|| finder.other(token))
                }
            };
        }
    }
    finder.found
}

struct Finder<'a> {
    source: &'a Source<'a>,
    random: &'a mut Rng,
    file: FileScope,
    looked_at: usize,
    found: Vec<Candidate>,
}

impl Finder<'_> {
    fn scope(&mut self, start: usize) -> Option<Scope> {
        self.looked_at += 1;
        if self.looked_at > MOST_ASSERTIONS {
            return None;
        }
        scope(self.source, self.file, start)
    }

    fn push(&mut self, kind: MutationKind, tier: u8, scope: Scope, part: usize, edits: Vec<Edit>) {
        // A function that tests may call is less sure to be run than a test.
        let tier = if scope.is_test { tier } else { tier + 1 };
        self.found.push(Candidate {
            kind,
            tier,
            group: scope.test,
            part,
            edits,
        });
    }

    fn negate(&mut self, scope: Scope, part: usize, edits: Vec<Edit>) {
        self.push(MutationKind::Negation, 0, scope, part, edits);
    }

    fn other(&mut self, token: usize) -> Option<()> {
        match (self.source.at(token), self.source.language) {
            ("assert", Language::Python) => self.python_assert(token),
            ("assert" | "debug_assert", Language::Rust) if self.source.is_punct(token + 1, "!") => {
                self.wrapped(token, token + 2)
            }
            ("should_panic", Language::Rust) => self.should_panic(token),
            (name @ ("assert" | "ok"), _) if self.source.is_punct(token + 1, "(") => {
                let is_plain = name == "assert" || token >= 2 && matches!(self.source.at(token - 2), "assert" | "t");
                is_plain.then_some(())?;
                self.wrapped(token, token + 1)
            }
            ("expect", _) => self.expect_chain(token),
            ("assertRaises" | "raises", Language::Python) => self.raised_type(token),
            ("parametrize", Language::Python) => self.parametrized(token),
            _ => self.own_assertion(token),
        }
    }

    /// A statement that calls a function or macro of the project which is probably an assertion: `check_eq!(add(1, 2), 3)`.
    fn own_assertion(&mut self, token: usize) -> Option<()> {
        let source = self.source;
        let open = token + 1 + usize::from(source.is_punct(token + 1, "!"));
        let close = source
            .partner(open)
            .filter(|close| source.is_punct(open, "(") && *close > open)?;
        let start = self.start_of_call(token);
        let begins = source.tokens_of_line(source.line_of(start)).start == start;
        let ends = source.is_punct(close + 1, ";") || source.line_of(close + 1) > source.line_of(close);
        (begins && ends && is_called_like_an_assertion(source.at(token))).then_some(())?;
        let parts = source.split(open + 1..close);
        let is_call = |token: usize| source.is_word(token) && source.is_punct(token + 1, "(");
        let has_call = |part: &Range<usize>| part.clone().any(is_call);
        let literal = parts.iter().find_map(|part| match value(source, part) {
            Value::Literal(tokens) => tokens.first().copied(),
            Value::Constructed(_) | Value::Named(_) | Value::Computed => None,
        })?;
        parts.iter().any(has_call).then_some(())?;
        let scope = self.scope(start).filter(|scope| scope.is_test)?;
        let edit = Edit::of_token(source, literal, altered(source, literal)?)?;
        self.push(MutationKind::Literal, PROBABLE, scope, start, vec![edit]);
        Some(())
    }

    /// An assertion that is a call, such as `assertEqual(f(x), 5)`.
    fn named(&mut self, token: usize) -> Option<()> {
        let source = self.source;
        let name = source.at(token);
        let is_dotted = token >= 2 && matches!(source.at(token - 1), "." | "::");
        let owner = is_dotted.then(|| source.at(token - 2));
        let is_macro = source.is_punct(token + 1, "!");
        let found = meaning(name, owner).or_else(|| unknown_equality(name))?;
        if token > 0 && matches!(source.at(token - 1), "def" | "fn" | "function" | "void" | "import") {
            return None;
        }
        let start = self.start_of_call(token);
        let open = token + 1 + usize::from(is_macro);
        let arguments = match source.partner(open) {
            Some(close) if close > open && source.at(open) != "{" => open + 1..close,
            _ => return None,
        };
        let scope = self.scope(start)?;
        if let Some(opposite) = found.opposite {
            self.negate(scope, start, vec![Edit::of_token(source, token, opposite)?]);
        }
        if found.is_equality {
            self.equality_of_arguments(scope, start, arguments, found);
        }
        Some(())
    }

    fn equality_of_arguments(&mut self, scope: Scope, start: usize, arguments: Range<usize>, found: Meaning) {
        let parts = self.source.split(arguments);
        let (Some(first), Some(second)) = (parts.first(), parts.get(1)) else {
            return;
        };
        let tier = if found.opposite.is_none() { 1 } else { 0 };
        self.equality(scope, start, first, second, tier);
    }

    /// Alters the side of an equality that is written out; if there is none, replaces the expected side.
    fn equality(&mut self, scope: Scope, part: usize, left: &Range<usize>, right: &Range<usize>, tier: u8) {
        let found_before = self.found.len();
        let (left_value, right_value) = (value(self.source, left), value(self.source, right));
        match (&left_value, &right_value) {
            (Value::Literal(_), Value::Literal(_)) => {}
            (_, Value::Literal(tokens)) | (Value::Literal(tokens), _) => {
                let token = self.random.choice(tokens).copied();
                self.alter(scope, part, token, tier);
            }
            (Value::Computed | Value::Named(_), Value::Constructed(tokens))
            | (Value::Constructed(tokens), Value::Computed | Value::Named(_)) => {
                self.alter(scope, part, tokens.first().copied(), tier + 2);
            }
            (Value::Constructed(_), Value::Constructed(tokens)) => {
                self.alter(scope, part, tokens.first().copied(), tier + 3);
            }
            (_, Value::Named(name)) if self.named_value(scope, part, *name, tier + 1).is_some() => {}
            (Value::Named(name), _) => {
                _ = self.named_value(scope, part, *name, tier + 1);
            }
            (_, Value::Named(_)) | (Value::Computed, Value::Computed) => {}
        }
        if self.found.len() > found_before {
            return;
        }
        let expected = match (&left_value, &right_value) {
            (Value::Literal(_), Value::Literal(_)) => return,
            (Value::Literal(_), _) => left,
            _ => right,
        };
        self.replace(scope, part, expected);
    }

    /// Replaces an expected value by a text, in languages that compare values of any types.
    ///
    /// A unique object would not do: work that reads what its tests expect returns an equal text, but another object.
    fn replace(&mut self, scope: Scope, part: usize, expected: &Range<usize>) {
        if matches!(self.source.language, Language::Rust | Language::Go) {
            return;
        }
        if let Some((start, end)) = self.source.span(expected) {
            let text = OTHER.to_owned();
            self.push(
                MutationKind::Literal,
                LAST_RESORT - 1,
                scope,
                part,
                vec![Edit { start, end, text }],
            );
        }
    }

    fn alter(&mut self, scope: Scope, part: usize, token: Option<usize>, tier: u8) {
        let Some(token) = token else { return };
        let others = [
            (altered(self.source, token), tier),
            (altered_again(self.source, token), AGAIN),
        ];
        for (other, tier) in others {
            if let Some(edit) = other.and_then(|other| Edit::of_token(self.source, token, other)) {
                self.push(MutationKind::Literal, tier, scope, part, vec![edit]);
            }
        }
    }

    /// Alters the value of a variable that is used for nothing but this assertion.
    fn named_value(&mut self, scope: Scope, part: usize, name: usize, tier: u8) -> Option<()> {
        let source = self.source;
        let text = source.at(name);
        if scope.test == source.line_of(part) {
            return None;
        }
        let first = source.tokens_of_line(scope.test).start;
        let last = source
            .tokens_of_line(source.end_of_block(scope.test))
            .start
            .max(name + 1);
        let uses: Vec<usize> = (first..last)
            .filter(|token| source.is_word(*token) && source.at(*token) == text)
            .collect();
        let [definition, used] = uses[..] else {
            return None;
        };
        if used != name {
            return None;
        }
        let equals = self.assignment_after(definition)?;
        let range = equals + 1..self.source.end_of_statement(equals);
        match value(source, &range) {
            Value::Literal(tokens) => {
                let token = *self.random.choice(&tokens)?;
                self.alter(scope, part, Some(token), tier);
            }
            Value::Constructed(tokens) => self.alter(scope, part, Some(*tokens.first()?), tier + 2),
            Value::Named(_) | Value::Computed => return None,
        }
        Some(())
    }

    /// The `=` or `:=` with which the name at `token` gets its value, past its type.
    fn assignment_after(&self, token: usize) -> Option<usize> {
        let source = self.source;
        if matches!(source.at(token + 1), "=" | ":=") {
            return Some(token + 1);
        }
        source.is_punct(token + 1, ":").then_some(())?;
        let line = source.line_of(token);
        (token + 2..source.tokens.len())
            .take_while(|next| source.line_of(*next) == line && !matches!(source.at(*next), ";" | ","))
            .find(|next| source.is_punct(*next, "="))
    }

    /// An assertion whose first argument has to be true.
    fn wrapped(&mut self, token: usize, open: usize) -> Option<()> {
        let source = self.source;
        let close = source.partner(open).filter(|close| *close > open)?;
        let start = self.start_of_call(token);
        if token > 0 && matches!(source.at(token - 1), "def" | "fn" | "function" | "import") {
            return None;
        }
        let scope = self.scope(start)?;
        let condition = source.split(open + 1..close).into_iter().next()?;
        self.negate(scope, start, Edit::around(source, &condition, "!(", ")")?);
        self.comparison(scope, start, &condition);
        Some(())
    }

    /// Alters what is compared in a condition that is nothing but one `==`.
    fn comparison(&mut self, scope: Scope, part: usize, condition: &Range<usize>) {
        let source = self.source;
        let stops = [
            "and", "or", "not", "if", "else", "in", "is", "lambda", "for", "&&", "||", "!=", "!==", "<", ">", "<=",
            ">=", "!",
        ];
        let mut equals = None;
        for token in source.outer(condition.clone()) {
            let text = source.at(token);
            if stops.contains(&text) && !(text == "!" && source.is_word(token.wrapping_sub(1))) {
                return;
            }
            if matches!(text, "==" | "===") && equals.replace(token).is_some() {
                return;
            }
        }
        if let Some(equals) = equals {
            self.equality(scope, part, &(condition.start..equals), &(equals + 1..condition.end), 0);
        }
    }

    /// An `if` of Go whose block does no more than fail the test.
    fn failing_if(&mut self, token: usize) -> Option<()> {
        let source = self.source;
        let line = source.tokens_of_line(source.line_of(token));
        (source.at(token) == "if" && line.start == token).then_some(())?;
        let block = source.outer(token + 1..line.end).find(|at| source.is_punct(*at, "{"))?;
        let close = source.partner(block).filter(|_| block + 1 == line.end)?;
        let fails = source.outer(block + 1..close).any(|at| {
            let is_call = source.is_punct(at - 1, ".") && source.at(at - 2) != "log";
            is_call && has_word(FAILING, source.at(at))
        });
        // Other functions may never be called.
        let is_callback = |header: usize| {
            let header = source.tokens_of_line(header);
            let has = |word: &str| header.clone().any(|at| source.at(at) == word);
            has("func") && !has("testing") && !matches!(source.at(header.start), "go" | "defer")
        };
        let is_reached = !source.headers(source.line_of(token)).into_iter().any(is_callback);
        let scope = self.scope(token).filter(|scope| fails && is_reached && scope.is_test)?;
        let semicolon = source.outer(token..block).filter(|at| source.is_punct(*at, ";")).last();
        let condition = semicolon.unwrap_or(token) + 1..block;
        let is_operator = |at: &usize| has_word("!= == && || < > <= >=", source.at(*at));
        let operators: Vec<usize> = source.outer(condition.clone()).filter(is_operator).collect();
        match (&operators[..], source.partner(block - 1)) {
            ([only], _) if source.is_punct(*only, "!=") => {
                self.equality(scope, token, &(condition.start..*only), &(only + 1..condition.end), 0);
            }
            // `!reflect.DeepEqual(f(x), 5)`, `!f(x).Equal(5)`.
            ([], Some(open)) if source.at(condition.start) == "!" && has_word(EQUAL, source.at(open - 1)) => {
                let expected = source.split(open + 1..block - 1).pop()?;
                if let Value::Literal(tokens) | Value::Constructed(tokens) = value(source, &expected) {
                    self.alter(scope, token, tokens.first().copied(), 2);
                }
            }
            _ => {}
        }
        self.negate(scope, token, Edit::around(source, &condition, "!(", ")")?);
        Some(())
    }

    fn python_assert(&mut self, token: usize) -> Option<()> {
        let source = self.source;
        if source.tokens_of_line(source.line_of(token)).start != token {
            return None;
        }
        let statement = token + 1..self.source.end_of_statement(token);
        let condition = source.split(statement).into_iter().next()?;
        if condition.clone().any(|token| source.is_punct(token, "\\")) {
            return None;
        }
        let scope = self.scope(token)?;
        self.negate(scope, token, Edit::around(source, &condition, "not (", ")")?);
        self.comparison(scope, token, &condition);
        Some(())
    }

    /// `#[should_panic]`, without which the panic fails the test.
    fn should_panic(&mut self, token: usize) -> Option<()> {
        let source = self.source;
        let open = token.checked_sub(1).filter(|open| source.is_punct(*open, "["))?;
        let hash = open.checked_sub(1).filter(|hash| source.is_punct(*hash, "#"))?;
        let close = source.partner(open)?;
        let function = (close..source.tokens.len().min(close + 200)).find(|token| source.at(*token) == "fn")?;
        let header = source.line_of(function);
        let attached = source.attached(header);
        let is_run = attached.contains(&token)
            && !attached
                .iter()
                .any(|token| matches!(source.at(*token), "ignore" | "cfg" | "cfg_attr"));
        is_run.then_some(())?;
        let (start, end) = source.span(&(hash..close + 1))?;
        let edit = Edit {
            start,
            end,
            text: String::new(),
        };
        let scope = Scope {
            test: header,
            is_test: true,
        };
        self.negate(scope, token, vec![edit]);
        Some(())
    }

    /// `expect(f(x)).toBe(5)` and `expect(f(x)).to.equal(5)`.
    fn expect_chain(&mut self, token: usize) -> Option<()> {
        let source = self.source;
        let open = token + 1;
        let close = source
            .partner(open)
            .filter(|close| source.is_punct(open, "(") && *close > open)?;
        let mut not = None;
        let mut is_async = false;
        let mut at = close + 1;
        while source.is_punct(at, ".") && source.is_word(at + 1) && !source.is_punct(at + 2, "(") {
            match source.at(at + 1) {
                "not" => not = Some(at),
                "resolves" | "rejects" | "eventually" => is_async = true,
                _ => {}
            }
            at += 2;
        }
        let has_matcher = source.is_punct(at, ".") && source.is_word(at + 1);
        let is_property = !has_matcher && at > close + 3;
        if !has_matcher && !is_property {
            return None;
        }
        let before = token.checked_sub(1).map_or("", |before| source.at(before));
        if is_async && !matches!(before, "await" | "return" | "=>") {
            return None;
        }
        let scope = self.scope(token)?;
        let negation = match not {
            Some(dot) => {
                let (start, end) = source.span(&(dot..dot + 2))?;
                let text = String::new();
                Edit { start, end, text }
            }
            // After `to` in chai, in front of the matcher in jest.
            None if source.at(close + 2) == "to" => Edit::insert(source.tokens.get(close + 2)?.end, ".not"),
            None => Edit::insert(
                source.tokens.get(if has_matcher { at } else { close + 1 })?.start,
                ".not",
            ),
        };
        self.negate(scope, token, vec![negation]);
        if not.is_some() || !has_matcher {
            return Some(());
        }
        let matcher = source.at(at + 1);
        let end = source.partner(at + 2)?;
        let expected = source.split(at + 3..end).into_iter().next()?;
        let compared = source.split(open + 1..close).into_iter().next()?;
        if has_word(MATCHERS, matcher) {
            self.equality(scope, token, &compared, &expected, 0);
        } else if matches!(matcher, "toThrow" | "toThrowError") {
            match value(source, &expected) {
                Value::Literal(tokens) | Value::Constructed(tokens) => {
                    self.alter(scope, token, tokens.first().copied(), 3);
                }
                Value::Named(name) => _ = self.named_value(scope, token, name, 3),
                Value::Computed => {}
            }
        }
        Some(())
    }

    /// The type in `assertRaises(ValueError)`.
    fn raised_type(&mut self, token: usize) -> Option<()> {
        let source = self.source;
        let start = self.start_of_call(token);
        let close = source.partner(token + 1)?;
        let kind = token + 2;
        let ends = kind + 1 == close || source.is_punct(kind + 1, ",");
        let other = match source.at(kind) {
            "Exception" | "BaseException" | "ArithmeticError" => return None,
            "ZeroDivisionError" => "LookupError",
            word if word.starts_with(|c: char| c.is_uppercase()) => "ZeroDivisionError",
            _ => return None,
        };
        ends.then_some(())?;
        // The line is itself one in which something has to be raised.
        let with = source.tokens_of_line(source.line_of(token)).start;
        let scope = self.scope(with.min(start))?;
        let edit = Edit::of_token(source, kind, other)?;
        self.push(MutationKind::Literal, LAST_RESORT, scope, start, vec![edit]);
        Some(())
    }

    /// The last values of the cases in `@pytest.mark.parametrize("x, expected", [(1, 2)])`.
    fn parametrized(&mut self, token: usize) -> Option<()> {
        let source = self.source;
        let close = source.partner(token + 1)?;
        let parts = source.split(token + 2..close);
        let names = source
            .span(parts.first()?)
            .map(|(start, end)| &source.text[start..end])?;
        let last = names.trim_end_matches(|c: char| !c.is_alphanumeric());
        if !["expected", "want", "output"].iter().any(|name| last.ends_with(name)) {
            return None;
        }
        let function = (close..source.tokens.len().min(close + 500)).find(|at| source.at(*at) == "def")?;
        let body = source.tokens_of_line(source.line_of(function) + 1).start;
        let mut scope = self.scope(body)?;
        scope.is_test = true;
        let cases = parts.get(1)?;
        for case in source.split(cases.start + 1..cases.end.saturating_sub(1)) {
            let fields = source.split(case.start + 1..case.end.saturating_sub(1));
            let Some(last) = fields
                .last()
                .filter(|_| fields.len() > 1 && source.is_punct(case.start, "("))
            else {
                continue;
            };
            if let Value::Literal(tokens) = value(source, last) {
                let literal = self.random.choice(&tokens).copied();
                self.alter(scope, case.start, literal, 2);
            }
        }
        Some(())
    }

    /// The first token of `self.assertEqual` and `t.assert.equal`.
    fn start_of_call(&self, token: usize) -> usize {
        let source = self.source;
        let mut start = token;
        while let Some(dot) = start.checked_sub(1)
            && matches!(source.at(dot), "." | "::" | "?.")
            && let Some(before) = dot.checked_sub(1)
        {
            start = match source.partner(before) {
                Some(open) if open < before => {
                    let is_call = open > 0 && source.is_word(open - 1);
                    if is_call { open - 1 } else { open }
                }
                _ => before,
            };
        }
        start
    }
}

/// Whether a name has a word of assertions: `check_eq`, `expectSame`.
fn is_called_like_an_assertion(name: &str) -> bool {
    let mut words: Vec<String> = vec![String::new()];
    for c in name.chars() {
        if c == '_' || c.is_uppercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c != '_') {
            word.push(c.to_ascii_lowercase());
        }
    }
    words.iter().any(|word| has_word(ASSERTING, word))
}

/// The meaning of a name that is in no table, such as `assertTreeEquals`.
fn unknown_equality(name: &str) -> Option<Meaning> {
    let says_equal = name.ends_with("Equal") || name.ends_with("Equals") || name.ends_with("_equal");
    let is_known = name.starts_with("assert") && says_equal && !name.contains("Not") && !name.contains("not");
    let is_tolerant = name.contains("Almost") || name.contains("almost");
    (is_known && !is_tolerant).then_some(Meaning {
        opposite: None,
        is_equality: true,
    })
}
