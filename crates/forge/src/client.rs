//! Reaches the forge by its command-line program.
//!
//! Every call names host and repository, so neither the project's directory nor its git configuration decides where it
//! goes. The program has the user's token; its output is bounded, and so is its time.

use std::{path::PathBuf, time::Duration};

use ralph_system::{
    os::now_ms,
    proc::{
        Supervisor,
        helper::{Helper, HelperError, HelperOutput},
    },
};
use serde_json::{Value, json};

use super::{
    ForgeError, ForgeProgram, ForgeRepository, Issue, RequestState,
    answer::{body, data, json as parsed},
    request::QUERY,
    request_text::{MARK, closed_issue},
};

/// How long an answer may take.
const DEADLINE: Duration = Duration::from_secs(60);
/// Most bytes that are read of an answer. A log is longer, and only its end is kept.
const ANSWER_BYTES: usize = 32 << 20;
/// Entries of a page of a list, and most pages that are read.
const PAGE: usize = 100;
const PAGES: usize = 10;
/// Most characters of a log's end.
const LOG: usize = 2_000;

/// A filter of open issues; it selects all if nothing is set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssueFilter {
    pub labels: Vec<String>,
    pub assignee: Option<String>,
    /// The number or `*`, as the forge takes it.
    pub milestone: Option<String>,
    /// Words of the forge's search. The other filters are added to them.
    pub query: Option<String>,
}

/// A pull request that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRequest {
    pub number: u64,
    pub url: String,
    pub body: String,
}

/// A forge, and one repository on it.
#[derive(Debug, Clone)]
pub struct Forge {
    repository: ForgeRepository,
    supervisor: Supervisor,
    /// A directory that no agent writes to, in which the program runs.
    directory: PathBuf,
    /// The project, whose directories on `PATH` are passed over.
    project: PathBuf,
}

impl Forge {
    /// Makes the client for a repository. `directory` lies outside of the project.
    pub fn new(repository: ForgeRepository, directory: PathBuf, project: PathBuf, supervisor: Supervisor) -> Forge {
        Forge {
            repository,
            supervisor,
            directory,
            project,
        }
    }

    pub fn repository(&self) -> &ForgeRepository {
        &self.repository
    }

    /// Returns the branch that pull requests are for unless they name another.
    ///
    /// # Errors
    /// [`ForgeError`]
    pub fn default_branch(&self) -> Result<String, ForgeError> {
        let path = self.path("");
        let found = self.get(
            &path,
            &format!("repository {}/{}", self.repository.owner, self.repository.name),
        )?;
        let branch = found["default_branch"].as_str();
        branch
            .map(str::to_owned)
            .ok_or_else(|| self.unexpected("a repository without a branch"))
    }

    /// Returns open issues, the newest first.
    ///
    /// # Errors
    /// [`ForgeError`]
    pub fn issues(&self, filter: &IssueFilter) -> Result<Vec<Issue>, ForgeError> {
        let issues = match &filter.query {
            Some(query) => {
                let words = searched(&self.repository, filter, query);
                self.pages(&format!("search/issues?q={}", encoded(&words)), "search")?
            }
            None => self.pages(&self.path(&listed(filter)), "list of issues")?,
        };
        Ok(issues.iter().filter_map(Issue::from_json).collect())
    }

    /// Returns an issue.
    ///
    /// # Errors
    /// [`ForgeError`]; [`ForgeError::NotFound`] also if it is a pull request.
    pub fn issue(&self, number: u64) -> Result<Issue, ForgeError> {
        let what = format!("issue {number}");
        let found = self.get(&self.path(&format!("/issues/{number}")), &what)?;
        Issue::from_json(&found).ok_or_else(|| ForgeError::NotFound {
            host: self.repository.host.clone(),
            what,
        })
    }

    /// Finds the pull request of a branch whose text has this mark, open or not.
    ///
    /// # Errors
    /// [`ForgeError`]
    pub fn find_request(&self, branch: &str, mark: &str) -> Result<Option<OpenRequest>, ForgeError> {
        let head = encoded(&format!("{}:{branch}", self.repository.owner));
        let found = self.pages(
            &self.path(&format!("/pulls?state=all&head={head}")),
            "list of pull requests",
        )?;
        let requests = found.iter().filter_map(open_request);
        Ok(requests.into_iter().find(|request| request.body.contains(mark)))
    }

    /// Returns the open pull requests that ralph has opened, each with the issue that it closes.
    ///
    /// # Errors
    /// [`ForgeError`]
    pub fn requests_of_issues(&self) -> Result<Vec<(u64, OpenRequest)>, ForgeError> {
        let found = self.pages(&self.path("/pulls?state=open"), "list of pull requests")?;
        let own = found
            .iter()
            .filter_map(open_request)
            .filter(|request| request.body.contains(MARK));
        Ok(own
            .filter_map(|request| Some((closed_issue(&request.body)?, request)))
            .collect())
    }

    /// Opens a pull request.
    ///
    /// # Errors
    /// [`ForgeError`]
    pub fn open_request(&self, branch: &str, base: &str, title: &str, text: &str) -> Result<OpenRequest, ForgeError> {
        let input = json!({"title": title, "head": branch, "base": base, "body": text});
        let made = self.send("POST", &self.path("/pulls"), &input, "pull request")?;
        open_request(&made).ok_or_else(|| self.unexpected("a new pull request"))
    }

    /// Replaces the text of a pull request. Its title may be the user's by now.
    ///
    /// # Errors
    /// [`ForgeError`]
    pub fn update_request(&self, number: u64, text: &str) -> Result<(), ForgeError> {
        let input = json!({"body": text});
        let what = format!("pull request {number}");
        self.send("PATCH", &self.path(&format!("/pulls/{number}")), &input, &what)
            .map(drop)
    }

    /// Returns the state of a pull request.
    ///
    /// # Errors
    /// [`ForgeError`]
    pub fn state(&self, number: u64) -> Result<RequestState, ForgeError> {
        let found = self.graphql(
            QUERY,
            json!({"owner": self.repository.owner, "name": self.repository.name, "number": number}),
        )?;
        RequestState::from_json(&found, MARK).ok_or_else(|| self.unexpected("the state of a pull request"))
    }

    /// Returns the end of the log of a job.
    ///
    /// # Errors
    /// [`ForgeError`]
    pub fn log_end(&self, job: u64) -> Result<String, ForgeError> {
        let path = self.path(&format!("/actions/jobs/{job}/logs"));
        let output = self.run("GET", &path, None)?;
        let log = self.body(&output, "log of the job")?;
        let log = ralph_text::sanitized(&log).trim().to_owned();
        let skipped = log.chars().count().saturating_sub(LOG);
        Ok(log.chars().skip(skipped).collect())
    }

    /// Answers a review thread and resolves it; each only if it has not been done.
    ///
    /// # Errors
    /// [`ForgeError`]
    pub fn answer_thread(&self, thread: &str, text: &str) -> Result<(), ForgeError> {
        let found = self.graphql(
            "query Thread($id:ID!){node(id:$id){...on PullRequestReviewThread{isResolved comments(last:50){nodes{body}}}}}",
            json!({"id": thread}),
        )?;
        let found = &found["node"];
        // A thread that was deleted needs no answer.
        let Some(is_resolved) = found["isResolved"].as_bool() else {
            return Ok(());
        };
        let comments = found["comments"]["nodes"].as_array().into_iter().flatten();
        if !comments
            .into_iter()
            .any(|comment| comment["body"].as_str() == Some(text))
        {
            self.graphql(
                "mutation Answer($id:ID!,$text:String!){addPullRequestReviewThreadReply(input:{pullRequestReviewThreadId:$id,body:$text}){comment{id}}}",
                json!({"id": thread, "text": text}),
            )?;
        }
        if !is_resolved {
            self.graphql(
                "mutation Resolve($id:ID!){resolveReviewThread(input:{threadId:$id}){thread{id}}}",
                json!({"id": thread}),
            )?;
        }
        Ok(())
    }

    /// Returns the entries of a list, page after page: those of the first [`PAGES`].
    fn pages(&self, path: &str, what: &str) -> Result<Vec<Value>, ForgeError> {
        let mut all = Vec::new();
        for page in 1..=PAGES {
            let mut found = self.get(&format!("{path}&per_page={PAGE}&page={page}"), what)?;
            // A search has its list below a key.
            let found = match found.get("items").is_some() {
                true => found["items"].as_array_mut(),
                false => found.as_array_mut(),
            };
            let found = found.ok_or_else(|| self.unexpected("a list"))?;
            let is_last = found.len() < PAGE;
            all.append(found);
            if is_last {
                break;
            }
        }
        Ok(all)
    }

    /// The path of something of the repository.
    fn path(&self, below: &str) -> String {
        format!("repos/{}/{}{below}", self.repository.owner, self.repository.name)
    }

    fn get(&self, path: &str, what: &str) -> Result<Value, ForgeError> {
        let output = self.run("GET", path, None)?;
        parsed(&self.body(&output, what)?, &self.repository.host)
    }

    fn send(&self, method: &str, path: &str, input: &Value, what: &str) -> Result<Value, ForgeError> {
        let output = self.run(method, path, Some(input))?;
        parsed(&self.body(&output, what)?, &self.repository.host)
    }

    fn graphql(&self, query: &str, variables: Value) -> Result<Value, ForgeError> {
        let output = self.run(
            "POST",
            "graphql",
            Some(&json!({"query": query, "variables": variables})),
        )?;
        data(&self.body(&output, "pull request")?, &self.repository.host)
    }

    fn body(&self, output: &HelperOutput, what: &str) -> Result<String, ForgeError> {
        let printed = String::from_utf8_lossy(&output.stdout.bytes);
        let said = String::from_utf8_lossy(&output.stderr.bytes);
        body(&printed, &said, &self.repository.host, what, now_ms()).map(str::to_owned)
    }

    fn run(&self, method: &str, path: &str, input: Option<&Value>) -> Result<HelperOutput, ForgeError> {
        let program = ForgeProgram::Gh.name();
        let Some(found) = self.supervisor.trusted_program(program, &self.project) else {
            return Err(ForgeError::NoProgram { program });
        };
        let helper: Helper = self
            .supervisor
            .trusted_helper(&found.to_string_lossy(), &self.project)
            .args([
                "api",
                "--hostname",
                &self.repository.host,
                "--include",
                "--method",
                method,
            ])
            .args(input.map(|_| ["--input", "-"]).into_iter().flatten())
            // The path is never read as an option, whatever it begins with.
            .args(["--", path])
            .env("GH_PROMPT_DISABLED", "1")
            .env("NO_COLOR", "1")
            .current_dir(&self.directory)
            .deadline(DEADLINE)
            .output_cap(ANSWER_BYTES);
        let helper = match input {
            Some(value) => helper.input(value.to_string().into_bytes()),
            None => helper,
        };
        helper.run().map_err(|error| {
            let host = self.repository.host.clone();
            match error {
                HelperError::Start(_) => ForgeError::NoProgram { program },
                HelperError::TimedOut { .. } | HelperError::GuardLost => ForgeError::Unreachable {
                    host,
                    why: error.to_string(),
                },
            }
        })
    }

    fn unexpected(&self, what: &str) -> ForgeError {
        ForgeError::Unexpected {
            host: self.repository.host.clone(),
            what: format!("it is not {what}"),
        }
    }
}

fn open_request(value: &Value) -> Option<OpenRequest> {
    Some(OpenRequest {
        number: value["number"].as_u64()?,
        url: ralph_text::one_line(value["html_url"].as_str()?),
        body: value["body"].as_str().unwrap_or_default().replace("\r\n", "\n"),
    })
}

/// The list of open issues, as a path below the repository.
fn listed(filter: &IssueFilter) -> String {
    let mut path = "/issues?state=open".to_owned();
    if !filter.labels.is_empty() {
        path += &format!("&labels={}", encoded(&filter.labels.join(",")));
    }
    for (key, value) in [("assignee", &filter.assignee), ("milestone", &filter.milestone)] {
        if let Some(value) = value {
            path += &format!("&{key}={}", encoded(value));
        }
    }
    path
}

/// The words of a search for open issues of the repository.
fn searched(repository: &ForgeRepository, filter: &IssueFilter, query: &str) -> String {
    let mut words = vec![
        format!("repo:{}/{}", repository.owner, repository.name),
        "is:issue".to_owned(),
        "is:open".to_owned(),
    ];
    words.extend(
        filter
            .labels
            .iter()
            .map(|label| format!("label:\"{}\"", label.replace('"', ""))),
    );
    words.extend(filter.assignee.iter().map(|login| format!("assignee:{login}")));
    words.extend(
        filter
            .milestone
            .iter()
            .map(|title| format!("milestone:\"{}\"", title.replace('"', ""))),
    );
    words.push(query.to_owned());
    words.join(" ")
}

/// Percent-encodes a value of a query.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            byte => out += &format!("%{byte:02X}"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_becomes_a_path_or_a_search_and_nothing_in_it_is_more_than_a_value() {
        let filter = IssueFilter {
            labels: vec!["good first".to_owned(), "a&b".to_owned()],
            assignee: Some("ann".to_owned()),
            milestone: Some("3".to_owned()),
            query: None,
        };
        assert_eq!(
            listed(&filter),
            "/issues?state=open&labels=good%20first%2Ca%26b&assignee=ann&milestone=3"
        );
        let repository = ForgeRepository::parse("https://github.com/team/shop").unwrap();
        assert_eq!(
            searched(&repository, &filter, "VAT in:title"),
            "repo:team/shop is:issue is:open label:\"good first\" label:\"a&b\" assignee:ann milestone:\"3\" VAT in:title"
        );
    }
}
