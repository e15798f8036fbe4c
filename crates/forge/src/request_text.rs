//! Writes the texts of pull requests. Pure.
//!
//! Words of agents and of others stand in code: a forge acts on bare words such as `closes #3` and `@team`.

/// The facts of a plan's work.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestFacts {
    /// The plan's name, which is part of the marker.
    pub plan: String,
    /// The batch of the plan.
    pub batch: String,
    /// The number of the issue that the request closes.
    pub closes: Option<u64>,
    /// The lines to read first.
    pub first: Vec<String>,
    pub tasks: Vec<(String, bool)>,
    /// Sentences on what verified the work.
    pub verified: Vec<String>,
    /// Sentences on what is not verified.
    pub unverified: Vec<String>,
    /// Changed tests that a person has confirmed.
    pub confirmed_tests: Vec<String>,
    /// Iterations, agent, tokens and cost.
    pub effort: String,
}

/// Most tasks, and most lines below each heading, that are listed.
const TASKS: usize = 40;
/// Most characters of a title.
const TITLE: usize = 120;

/// Returns the mark by which ralph knows a pull request as its own.
pub fn marker(batch: &str, plan: &str) -> String {
    format!("<!-- ralph {batch} {plan} -->")
}

/// The beginning of every mark.
pub(crate) const MARK: &str = "<!-- ralph ";

/// Returns the title of the request for a plan whose text is `plan` and whose name is `name`: that of its first heading.
pub fn request_title(plan: &str, name: &str) -> String {
    let heading = plan.lines().find_map(|line| line.strip_prefix("# "));
    let heading = heading.map(|text| text.trim().trim_end_matches('#').trim());
    // Without the number of the issue, which the text names, and without the quotation marks of another's words.
    let title = heading.map(|text| match text.rsplit_once(" (#") {
        Some((title, number)) if number.trim_end_matches(')').parse::<u64>().is_ok() => title,
        Some(_) | None => text,
    });
    let title = title.map(|text| text.trim_matches(['“', '”']).replace(['@', '#'], " "));
    let title = title
        .map(|text| ralph_text::one_line(&text))
        .filter(|text| !text.is_empty());
    title.unwrap_or_else(|| name.to_owned()).chars().take(TITLE).collect()
}

/// Returns the text of the request.
pub fn request_body(facts: &RequestFacts) -> String {
    let mut text = String::new();
    if let Some(number) = facts.closes {
        text += &format!("Closes #{number}.\n\n");
    }
    for line in &facts.first {
        text += &format!("- {}\n", code(line));
    }
    if !facts.first.is_empty() {
        text.push('\n');
    }
    if !facts.tasks.is_empty() {
        text += "## Tasks\n\n";
        for (task, done) in facts.tasks.iter().take(TASKS) {
            text += &format!("- [{}] {}\n", if *done { 'x' } else { ' ' }, code(task));
        }
        if let Some(more @ 1..) = facts.tasks.len().checked_sub(TASKS) {
            text += &format!("- and {more} more\n");
        }
        text.push('\n');
    }
    for (heading, lines) in [
        ("Verified by", &facts.verified),
        ("Not verified", &facts.unverified),
        ("Changed tests that a person has confirmed", &facts.confirmed_tests),
    ] {
        if lines.is_empty() {
            continue;
        }
        text += &format!("## {heading}\n\n");
        for line in lines.iter().take(TASKS) {
            text += &format!("- {}\n", code(line));
        }
        if let Some(more @ 1..) = lines.len().checked_sub(TASKS) {
            text += &format!("- and {more} more\n");
        }
        text.push('\n');
    }
    if !facts.effort.is_empty() {
        text += &format!("{}\n\n", code(&facts.effort));
    }
    text += &marker(&facts.batch, &facts.plan);
    text.push('\n');
    text
}

/// Returns the issue that the text of a request closes.
pub(crate) fn closed_issue(text: &str) -> Option<u64> {
    let (number, _) = text.strip_prefix("Closes #")?.split_once('.')?;
    number.parse().ok()
}

/// Returns ralph's answer to a review thread, which names the commit with the change.
pub fn thread_answer(thread: &str, commit: &str) -> String {
    format!("Changed in {commit}.\n\n{MARK}thread {thread} -->")
}

/// Formats a text as code on one line.
fn code(text: &str) -> String {
    let line = ralph_text::one_line(text).replace('`', "'");
    format!("`{line}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_says_what_was_done_what_verified_it_and_what_did_not() {
        let facts = RequestFacts {
            plan: "issue-42".to_owned(),
            batch: "b".to_owned(),
            closes: Some(42),
            first: vec!["DONE, VERIFIED".to_owned(), "review first: deleted: LICENSE".to_owned()],
            tasks: vec![("Add VAT".to_owned(), true), ("closes #1, @team `x`".to_owned(), true)],
            verified: vec!["goal tests: 5 passed".to_owned()],
            unverified: Vec::new(),
            confirmed_tests: vec!["tests/cart.rs".to_owned()],
            effort: "2 iterations, $0.10".to_owned(),
        };
        assert_eq!(closed_issue(&request_body(&facts)), Some(42));
        assert_eq!(closed_issue("It says: Closes #42."), None);
        assert_eq!(
            request_body(&facts),
            "Closes #42.\n\n- `DONE, VERIFIED`\n- `review first: deleted: LICENSE`\n\n## Tasks\n\n- [x] `Add VAT`\n- [x] `closes #1, @team 'x'`\n\n## Verified by\n\n- `goal tests: 5 passed`\n\n\
             ## Changed tests that a person has confirmed\n\n- `tests/cart.rs`\n\n`2 iterations, $0.10`\n\n<!-- ralph b issue-42 -->\n"
        );
    }

    #[test]
    fn the_title_is_the_plans_first_heading_without_what_a_forge_acts_on() {
        assert_eq!(
            request_title("---\nissue: x\n---\n# “Prices of @all” (#42)\n", "issue-42"),
            "Prices of all"
        );
        assert_eq!(request_title("# The shop (#x)\n", "shop"), "The shop ( x)");
        assert_eq!(request_title("- [ ] x\n", "shop"), "shop");
        assert_eq!(request_title(&format!("# {}", "x".repeat(999)), "shop").len(), TITLE);
    }

    #[test]
    fn an_answer_is_known_as_ralphs_own() {
        assert!(thread_answer("T1", "c").contains(MARK));
    }
}
