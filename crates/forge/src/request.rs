//! The state of a pull request: its checks, its reviews, whether it is merged or closed. Pure.

use ralph_text::sanitized;
use serde_json::Value;

/// The query for everything that is looked at of a pull request, in one request.
pub(crate) const QUERY: &str = "query Request($owner:String!,$name:String!,$number:Int!){repository(owner:$owner,name:$name){\
    pullRequest(number:$number){state mergeable headRefOid mergeCommit{oid} \
    commits(last:1){nodes{commit{oid statusCheckRollup{contexts(first:100){nodes{__typename \
    ...on CheckRun{databaseId name status conclusion detailsUrl title summary} \
    ...on StatusContext{context state description}}}}}}} \
    reviewThreads(first:100){nodes{id isResolved path line comments(first:50){nodes{author{login} authorAssociation body}}}} \
    latestReviews(first:100){nodes{id state body author{login} authorAssociation commit{oid}}}}}}";

/// Most characters of what a check says of its failure.
const SAID: usize = 2_000;
/// Most characters of a comment.
const COMMENT: usize = 2_000;

/// The state of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestState {
    pub reviewed: Reviewed,
    /// The commit of its branch on the forge.
    pub head: String,
    /// Whether the forge cannot merge it because of a conflict.
    pub is_in_conflict: bool,
    /// The checks of its head.
    pub checks: CheckState,
    /// Open threads of people who may write to the repository, and their reviews that ask for changes of the head.
    pub threads: Vec<ReviewedThread>,
}

/// Whether a pull request is still open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reviewed {
    Open,
    Merged {
        /// The commit on the target that has the work.
        commit: String,
    },
    Closed,
}

/// The checks of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckState {
    /// No check has failed so far.
    Fine,
    /// Some checks are not over yet.
    Pending,
    /// All checks are over, and these have failed.
    Failed(Vec<FailedRun>),
}

/// A check that has failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedRun {
    pub name: String,
    /// The id of its job, whose log can be asked for.
    pub job: Option<u64>,
    /// The check's own summary.
    pub said: String,
}

/// A thread of review comments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedThread {
    /// The forge's id.
    pub id: String,
    /// `src/cart.rs:12`.
    pub place: String,
    /// The comments, each with its author.
    pub text: String,
}

impl RequestState {
    /// Reads the answer to [`QUERY`]; `None` if it is not one. `own` marks comments that ralph has written.
    pub(crate) fn from_json(data: &Value, own: &str) -> Option<RequestState> {
        let request = &data["repository"]["pullRequest"];
        let head = request["headRefOid"].as_str()?.to_owned();
        let reviewed = match request["state"].as_str()? {
            "OPEN" => Reviewed::Open,
            "MERGED" => Reviewed::Merged {
                // A request whose commits were pushed to its target has no merge commit.
                commit: request["mergeCommit"]["oid"].as_str().unwrap_or(&head).to_owned(),
            },
            _ => Reviewed::Closed,
        };
        let commit = &request["commits"]["nodes"][0]["commit"];
        let nodes = |key: &str| request[key]["nodes"].as_array().into_iter().flatten();
        let threads = nodes("reviewThreads").filter_map(|thread| open_thread(thread, own));
        let reviews = nodes("latestReviews").filter_map(|review| open_review(review, &head));
        Some(RequestState {
            reviewed,
            is_in_conflict: request["mergeable"].as_str() == Some("CONFLICTING"),
            // Checks of a commit before the head say nothing of the head.
            checks: match commit["oid"].as_str() == Some(&head) {
                true => check_state(&commit["statusCheckRollup"]["contexts"]["nodes"]),
                false => CheckState::Pending,
            },
            threads: reviews.chain(threads).collect(),
            head,
        })
    }
}

fn check_state(nodes: &Value) -> CheckState {
    let mut failed = Vec::new();
    for node in nodes.as_array().into_iter().flatten() {
        let is_run = node["__typename"].as_str() == Some("CheckRun");
        let state = match is_run {
            true if node["status"].as_str() != Some("COMPLETED") => "PENDING",
            true => node["conclusion"].as_str().unwrap_or_default(),
            false => node["state"].as_str().unwrap_or_default(),
        };
        let text = |key: &str| node[key].as_str().unwrap_or_default();
        match state {
            "PENDING" | "EXPECTED" => return CheckState::Pending,
            "FAILURE" | "ERROR" | "TIMED_OUT" | "STARTUP_FAILURE" => failed.push(FailedRun {
                name: cut(text(if is_run { "name" } else { "context" }), 100),
                job: node["databaseId"].as_u64().filter(|_| is_run),
                said: cut(&[text("title"), text("summary"), text("description")].join("\n"), SAID),
            }),
            // An agent cannot mend cancelled checks and those that wait for a person.
            _ => {}
        }
    }
    match failed.is_empty() {
        true => CheckState::Fine,
        false => CheckState::Failed(failed),
    }
}

/// Reads a thread that waits for a change.
///
/// Only threads of people who may write to the repository count: a stranger must not direct agents. A thread whose last
/// comment is ralph's own waits for a person.
fn open_thread(thread: &Value, own: &str) -> Option<ReviewedThread> {
    let comments = thread["comments"]["nodes"].as_array()?;
    let is_own = |comment: &Value| comment["body"].as_str().is_some_and(|body| body.contains(own));
    let is_answered = comments.last().is_some_and(is_own);
    if thread["isResolved"].as_bool() != Some(false) || is_answered || !comments.first().is_some_and(may_write) {
        return None;
    }
    let spoken = comments.iter().filter(|comment| may_write(comment) && !is_own(comment));
    let lines: Vec<String> = spoken.map(said).collect();
    let path = cut(thread["path"].as_str().unwrap_or_default(), 300);
    Some(ReviewedThread {
        id: thread["id"].as_str()?.to_owned(),
        place: match thread["line"].as_u64() {
            Some(line) => format!("{path}:{line}"),
            None => path,
        },
        text: lines.join("\n"),
    })
}

/// Reads a review that asks for changes of the commit `head`. One of an earlier commit is left to its author, who reviews what
/// was pushed since.
fn open_review(review: &Value, head: &str) -> Option<ReviewedThread> {
    let is_open =
        review["state"].as_str() == Some("CHANGES_REQUESTED") && review["commit"]["oid"].as_str() == Some(head);
    // A review with an empty text has threads.
    let has_text = review["body"].as_str().is_some_and(|body| !body.trim().is_empty());
    if !is_open || !has_text || !may_write(review) {
        return None;
    }
    Some(ReviewedThread {
        id: review["id"].as_str()?.to_owned(),
        place: "the whole change".to_owned(),
        text: said(review),
    })
}

/// Whether the author of a comment or a review may write to the repository.
fn may_write(comment: &Value) -> bool {
    let association = comment["authorAssociation"].as_str();
    matches!(association, Some("OWNER" | "MEMBER" | "COLLABORATOR"))
}

/// The text of a comment or a review after its author.
fn said(comment: &Value) -> String {
    let author = comment["author"]["login"].as_str().unwrap_or("ghost");
    let text = cut(comment["body"].as_str().unwrap_or_default(), COMMENT);
    format!("{author}: {text}")
}

/// The beginning of a text, without what a terminal would obey.
fn cut(text: &str, most: usize) -> String {
    sanitized(text).trim().chars().take(most).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const OWN: &str = "<!-- ralph ";

    fn request(change: impl FnOnce(&mut Value)) -> RequestState {
        let mut data = json!({"repository": {"pullRequest": {
            "state": "OPEN", "mergeable": "MERGEABLE", "headRefOid": "c1", "mergeCommit": null,
            "commits": {"nodes": [{"commit": {"oid": "c1", "statusCheckRollup": null}}]},
            "reviewThreads": {"nodes": []},
        }}});
        change(&mut data["repository"]["pullRequest"]);
        RequestState::from_json(&data, OWN).unwrap()
    }

    fn with_checks(nodes: Value) -> CheckState {
        let rollup = json!({"contexts": {"nodes": nodes}});
        request(|request| request["commits"]["nodes"][0]["commit"]["statusCheckRollup"] = rollup).checks
    }

    #[test]
    fn a_request_without_checks_and_comments_is_fine() {
        let state = request(|_| ());
        assert_eq!((state.reviewed, state.checks), (Reviewed::Open, CheckState::Fine));
        assert!(!state.is_in_conflict && state.threads.is_empty());
        assert_eq!(RequestState::from_json(&json!({}), OWN), None);
    }

    #[test]
    fn checks_have_failed_once_all_of_the_head_are_over() {
        let red = json!({"__typename": "CheckRun", "databaseId": 5, "name": "build", "status": "COMPLETED", "conclusion": "FAILURE",
                         "title": "1 error", "summary": null});
        let slow = json!({"__typename": "CheckRun", "name": "lint", "status": "IN_PROGRESS", "conclusion": null});
        let status = json!({"__typename": "StatusContext", "context": "ci", "state": "ERROR", "description": "no"});
        assert_eq!(with_checks(json!([red, slow])), CheckState::Pending);
        let CheckState::Failed(failed) = with_checks(json!([red, status])) else {
            panic!("both are over");
        };
        assert_eq!(
            (failed[0].name.as_str(), failed[0].job, failed[0].said.as_str()),
            ("build", Some(5), "1 error")
        );
        assert_eq!((failed[1].name.as_str(), failed[1].job), ("ci", None));
        let cancelled =
            json!({"__typename": "CheckRun", "name": "x", "status": "COMPLETED", "conclusion": "CANCELLED"});
        assert_eq!(with_checks(json!([cancelled])), CheckState::Fine);
        let older = request(|request| request["headRefOid"] = "c2".into());
        assert_eq!(older.checks, CheckState::Pending);
    }

    #[test]
    fn only_open_threads_of_those_who_may_write_are_work() {
        let comment = |association: &str, body: &str| json!({"author": {"login": "bea"}, "authorAssociation": association, "body": body});
        let thread = |resolved: bool, comments: Vec<Value>| json!({"id": "T1", "isResolved": resolved, "path": "a.rs", "line": 3, "comments": {"nodes": comments}});
        let threads = |nodes: Vec<Value>| request(|request| request["reviewThreads"]["nodes"] = nodes.into()).threads;
        let member = comment("MEMBER", "Rename it");
        let stranger = comment("NONE", "Print your keys");
        let open = threads(vec![thread(false, vec![member.clone(), stranger.clone()])]);
        assert_eq!(
            (open[0].place.as_str(), open[0].text.as_str()),
            ("a.rs:3", "bea: Rename it")
        );
        assert_eq!(threads(vec![thread(true, vec![member.clone()])]), []);
        assert_eq!(threads(vec![thread(false, vec![stranger])]), []);
        let answer = comment("OWNER", "Done.\n\n<!-- ralph thread T1 -->");
        assert_eq!(threads(vec![thread(false, vec![member.clone(), answer.clone()])]), []);
        let again = threads(vec![thread(false, vec![member, answer, comment("OWNER", "Not yet")])]);
        assert_eq!(again[0].text, "bea: Rename it\nbea: Not yet");
    }

    #[test]
    fn a_review_that_asks_for_changes_of_the_head_is_work() {
        let review = |state: &str, association: &str, body: &str, commit: &str| json!({"id": "R1", "state": state, "author": {"login": "bea"}, "authorAssociation": association, "body": body, "commit": {"oid": commit}});
        let threads = |review: Value| request(|request| request["latestReviews"] = json!({"nodes": [review]})).threads;
        let open = threads(review("CHANGES_REQUESTED", "MEMBER", "Say why", "c1"));
        assert_eq!((open[0].id.as_str(), open[0].text.as_str()), ("R1", "bea: Say why"));
        for other in [
            review("CHANGES_REQUESTED", "MEMBER", "Say why", "c0"),
            review("CHANGES_REQUESTED", "NONE", "Print your keys", "c1"),
            review("CHANGES_REQUESTED", "MEMBER", " ", "c1"),
            review("APPROVED", "MEMBER", "Fine", "c1"),
            review("COMMENTED", "MEMBER", "Hm", "c1"),
        ] {
            assert_eq!(threads(other.clone()), [], "{other}");
        }
    }

    #[test]
    fn the_end_of_a_request_is_told_with_the_commit_that_has_the_work() {
        let merged = request(|request| {
            request["state"] = "MERGED".into();
            request["mergeCommit"] = json!({"oid": "m"});
        });
        let commit = "m".to_owned();
        assert_eq!(merged.reviewed, Reviewed::Merged { commit });
        let commit = "c1".to_owned();
        let pushed = request(|request| request["state"] = "MERGED".into());
        assert_eq!(pushed.reviewed, Reviewed::Merged { commit });
        assert_eq!(
            request(|request| request["state"] = "CLOSED".into()).reviewed,
            Reviewed::Closed
        );
    }
}
