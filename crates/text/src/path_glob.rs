//! Glob patterns for paths.
//!
//! Own code, because the available crates either do not report the error in a pattern (`fast-glob`), have no braces
//! (`glob`), or bring an engine for regular expressions (`globset`). Matching is never exponential: only the latest
//! star is retried, once at each later position.

/// Most patterns that the braces of one expand to.
const ALTERNATIVES_CAP: usize = 256;
const PATTERN_CAP_BYTES: usize = 1024;

/// A pattern for paths relative to the project.
#[derive(Debug, Clone)]
pub struct PathGlob {
    pattern: String,
    alternatives: Vec<Vec<GlobSegment>>,
}

/// Patterns, one of which has to match.
#[derive(Debug, Clone, Default)]
pub struct PathGlobs(Vec<PathGlob>);

#[derive(Debug, Clone)]
enum GlobSegment {
    /// `**`: any number of directories.
    Directories,
    Name(Vec<GlobToken>),
}

#[derive(Debug, Clone)]
enum GlobToken {
    Char(char),
    One,
    Many,
    Class { negated: bool, ranges: Vec<(char, char)> },
}

/// Splits a path into names, once for all patterns.
pub fn parts(path: &str) -> Vec<Vec<char>> {
    path.split('/').map(|name| name.chars().collect()).collect()
}

impl PathGlobs {
    /// Compiles patterns.
    ///
    /// # Errors
    /// The first wrong pattern, and a clause with what is wrong about it.
    pub fn new(patterns: &[String]) -> Result<PathGlobs, (String, &'static str)> {
        let compiled = patterns
            .iter()
            .map(|pattern| PathGlob::new(pattern).map_err(|why| (pattern.clone(), why)));
        compiled.collect::<Result<_, _>>().map(PathGlobs)
    }

    pub fn matches(&self, parts: &[Vec<char>]) -> bool {
        self.0.iter().any(|glob| glob.matches(parts))
    }

    pub fn iter(&self) -> impl Iterator<Item = &PathGlob> {
        self.0.iter()
    }
}

impl PathGlob {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// A clause with what is wrong about it.
    pub fn new(pattern: &str) -> Result<PathGlob, &'static str> {
        check(pattern)?;
        let alternatives = expand(pattern.strip_prefix("./").unwrap_or(pattern))?;
        let alternatives = alternatives.iter().map(|text| segments(text));
        Ok(PathGlob {
            pattern: pattern.to_owned(),
            alternatives: alternatives.collect::<Result<_, _>>()?,
        })
    }

    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Returns the only matching path if the pattern has a directory and no wildcards.
    pub fn path(&self) -> Option<&str> {
        let path = self.pattern.strip_prefix("./").unwrap_or(&self.pattern);
        let is_plain = path.contains('/') && !path.ends_with('/') && !path.contains(['*', '?', '[', '{', '\\']);
        is_plain.then_some(path)
    }

    pub fn matches(&self, parts: &[Vec<char>]) -> bool {
        let matches = |segments: &Vec<GlobSegment>| {
            wildcard(
                segments,
                parts,
                |segment| matches!(segment, GlobSegment::Directories),
                |segment, name| match segment {
                    GlobSegment::Directories => false,
                    GlobSegment::Name(tokens) => name_matches(tokens, name),
                },
            )
        };
        self.alternatives.iter().any(matches)
    }
}

fn check(pattern: &str) -> Result<(), &'static str> {
    if pattern.is_empty() {
        Err("it is empty")
    } else if pattern.len() > PATTERN_CAP_BYTES {
        Err("it is longer than 1 KiB")
    } else if pattern.starts_with('!') {
        Err("`!` in front is not supported; name the exception as one")
    } else if pattern.starts_with('/') {
        Err("it starts with `/`, but paths are relative to the project")
    } else if pattern.split('/').any(|name| name == "..") {
        Err("`..` is outside of the project")
    } else {
        Ok(())
    }
}

/// Expands the braces of a pattern.
fn expand(pattern: &str) -> Result<Vec<String>, &'static str> {
    let Some(Braces { open, close, commas }) = first_braces(pattern)? else {
        return Ok(vec![pattern.to_owned()]);
    };
    let mut found = Vec::new();
    let mut from = open + 1;
    for end in commas.into_iter().chain([close]) {
        let one = format!("{}{}{}", &pattern[..open], &pattern[from..end], &pattern[close + 1..]);
        found.extend(expand(&one)?);
        if found.len() > ALTERNATIVES_CAP {
            return Err("its braces stand for more than 256 patterns");
        }
        from = end + 1;
    }
    Ok(found)
}

/// The positions of an opening brace, its closing brace and the commas between them outside inner braces.
struct Braces {
    open: usize,
    close: usize,
    commas: Vec<usize>,
}

fn first_braces(pattern: &str) -> Result<Option<Braces>, &'static str> {
    let (mut open, mut depth, mut commas) = (0, 0_usize, Vec::new());
    let (mut escaped, mut class) = (false, false);
    for (at, char) in pattern.char_indices() {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => class = true,
            ']' => class = false,
            _ if class => {}
            '{' => {
                depth += 1;
                if depth == 1 {
                    open = at;
                }
            }
            '}' if depth == 0 => return Err("a `}` without its `{`"),
            '}' if depth == 1 => {
                return Ok(Some(Braces {
                    open,
                    close: at,
                    commas,
                }));
            }
            '}' => depth -= 1,
            ',' if depth == 1 => commas.push(at),
            _ => {}
        }
    }
    if depth > 0 {
        Err("a `{` without its `}`")
    } else {
        Ok(None)
    }
}

fn segments(pattern: &str) -> Result<Vec<GlobSegment>, &'static str> {
    let mut segments = Vec::new();
    if !pattern.contains('/') {
        segments.push(GlobSegment::Directories);
    }
    let mut names = pattern.split('/').peekable();
    while let Some(name) = names.next() {
        match name {
            "**" => segments.push(GlobSegment::Directories),
            // `tests/` matches everything below it.
            "" if names.peek().is_none() => segments.push(GlobSegment::Directories),
            "" => return Err("a name in it is empty"),
            name => segments.push(GlobSegment::Name(tokens(name)?)),
        }
    }
    if matches!(segments.last(), Some(GlobSegment::Directories)) {
        segments.push(GlobSegment::Name(vec![GlobToken::Many]));
    }
    Ok(segments)
}

fn tokens(name: &str) -> Result<Vec<GlobToken>, &'static str> {
    let mut tokens = Vec::new();
    let mut chars = name.chars();
    while let Some(char) = chars.next() {
        tokens.push(match char {
            '*' if matches!(tokens.last(), Some(GlobToken::Many)) => {
                return Err("`**` is for whole directories: it stands alone between `/`");
            }
            '*' => GlobToken::Many,
            '?' => GlobToken::One,
            '\\' => GlobToken::Char(chars.next().ok_or("a `\\` at its end")?),
            '[' => class(&mut chars)?,
            char => GlobToken::Char(char),
        });
    }
    Ok(tokens)
}

/// Parses a character class, from after its `[` to its `]`.
fn class(chars: &mut std::str::Chars<'_>) -> Result<GlobToken, &'static str> {
    const OPEN: &str = "a `[` without its `]`";
    let mut ranges: Vec<(char, char)> = Vec::new();
    let mut char = chars.next().ok_or(OPEN)?;
    let negated = matches!(char, '!' | '^');
    if negated {
        char = chars.next().ok_or(OPEN)?;
    }
    // The first character may be a `]`.
    loop {
        let first = char;
        char = chars.next().ok_or(OPEN)?;
        let mut rest = chars.clone();
        match (char, rest.next()) {
            ('-', Some(last)) if last != ']' => {
                if last < first {
                    return Err("a range in `[…]` runs backwards");
                }
                ranges.push((first, last));
                *chars = rest;
                char = chars.next().ok_or(OPEN)?;
            }
            _ => ranges.push((first, first)),
        }
        if char == ']' {
            return Ok(GlobToken::Class { negated, ranges });
        }
    }
}

fn name_matches(tokens: &[GlobToken], name: &[char]) -> bool {
    wildcard(
        tokens,
        name,
        |token| matches!(token, GlobToken::Many),
        |token, char| match token {
            GlobToken::Char(own) => own == char,
            GlobToken::One => true,
            GlobToken::Many => false,
            GlobToken::Class { negated, ranges } => {
                *negated != ranges.iter().any(|(first, last)| (first..=last).contains(&char))
            }
        },
    )
}

/// Matches with one kind of item that stands for any number of others. Only the latest one is retried.
fn wildcard<P, T>(pattern: &[P], text: &[T], is_many: impl Fn(&P) -> bool, is_one: impl Fn(&P, &T) -> bool) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut again: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(item) if is_many(item) => {
                again = Some((p + 1, t));
                p += 1;
            }
            Some(item) if is_one(item, &text[t]) => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((after, from)) = again else {
                    return false;
                };
                again = Some((after, from + 1));
                p = after;
                t = from + 1;
            }
        }
    }
    pattern[p..].iter().all(is_many)
}

#[cfg(test)]
mod tests {
    use super::{PathGlob, parts};

    fn matches(pattern: &str, path: &str) -> bool {
        PathGlob::new(pattern).unwrap().matches(&parts(path))
    }

    #[test]
    fn patterns_match_paths_as_people_expect() {
        for (pattern, path, expected) in [
            ("conftest.py", "conftest.py", true),
            ("conftest.py", "a/b/conftest.py", true),
            ("conftest.py", "a/xconftest.py", false),
            ("test_*.py", "deep/test_it.py", true),
            ("test_*.py", "test_dir/it.py", false),
            ("tests/*.rs", "tests/a.rs", true),
            ("tests/*.rs", "tests/a/b.rs", false),
            ("tests/*.rs", "x/tests/a.rs", false),
            ("tests/**", "tests/a/b.rs", true),
            ("tests/", "tests/a/b.rs", true),
            ("tests/**", "tests", false),
            ("**/tests/**/*.rs", "tests/a.rs", true),
            ("**/tests/**/*.rs", "x/y/tests/z/a.rs", true),
            ("**/tests/**/*.rs", "x/y/test/z/a.rs", false),
            ("*.{test,spec}.{js,ts}", "src/a.spec.ts", true),
            ("*.{test,spec}.[jt]s{,x}", "src/a.test.jsx", true),
            ("*.{test,spec}.[jt]s{,x}", "src/a.test.css", false),
            ("{a/b,c}.txt", "a/b.txt", true),
            ("{a/b,c}.txt", "d/c.txt", true),
            ("{a{1,2},b}", "a2", true),
            ("?.py", "ä.py", true),
            ("?.py", "ab.py", false),
            ("[!a-c].py", "d.py", true),
            ("[!a-c].py", "b.py", false),
            ("[]x].py", "].py", true),
            ("[a-]", "-", true),
            ("\\*.py", "*.py", true),
            ("\\*.py", "a.py", false),
            ("./a.py", "b/a.py", true),
            (".*", ".hidden", true),
            ("*a*a*b", "aaaaaaaaaaab", true),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn a_wrong_pattern_is_named_with_what_is_wrong() {
        for (pattern, why) in [
            ("", "empty"),
            ("!a", "`!`"),
            ("/a", "relative"),
            ("a/../b", "outside of the project"),
            ("a//b", "empty"),
            ("{a,b", "without its `}`"),
            ("a}", "without its `{`"),
            ("[a", "without its `]`"),
            ("[", "without its `]`"),
            ("[b-a]", "backwards"),
            ("a**", "stands alone"),
            ("a\\", "at its end"),
            (&"{a,b}".repeat(9), "256"),
        ] {
            let error = PathGlob::new(pattern).unwrap_err();
            assert!(error.contains(why), "{pattern}: {error}");
        }
    }

    #[test]
    fn many_stars_take_no_longer() {
        let pattern = "*a".repeat(200);
        assert!(!matches(&pattern, &"a".repeat(199)));
        let pattern = format!("{}z", "**/a/".repeat(50));
        assert!(!matches(&pattern, &"a/".repeat(400)));
    }
}
