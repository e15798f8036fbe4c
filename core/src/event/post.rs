//! Issues and comments that agents propose for the forge. ralph posts them if the user or a setting lets them through.

use serde::{Deserialize, Serialize};

use super::{AnswerPlace, List, Text};

/// Maximum size of the text of a proposed issue or comment, in bytes. A longer one is refused.
pub const POST_CAP_BYTES: usize = 8 * 1024;
/// Maximum size of the title of a proposed issue, in bytes. A longer one is refused.
pub const POST_TITLE_CAP_BYTES: usize = 200;
/// Maximum number of labels of a proposed issue.
pub const POST_LABELS: usize = 10;

/// A post that an agent proposes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ForgePost {
    Issue {
        title: Text<POST_TITLE_CAP_BYTES>,
        body: Text<POST_CAP_BYTES>,
        labels: List<Text<100>, POST_LABELS>,
    },
    Comment {
        /// The number of the issue or pull request.
        number: u64,
        body: Text<POST_CAP_BYTES>,
    },
}

impl ForgePost {
    pub fn body(&self) -> &str {
        match self {
            ForgePost::Issue { body, .. } | ForgePost::Comment { body, .. } => body.as_str(),
        }
    }
}

/// The rule by which a proposed post is let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PostRule {
    /// Agents cannot propose such posts.
    #[default]
    Off,
    /// The user is asked.
    Ask,
    /// The settings do.
    Allow,
}

/// The issues and pull requests that agents may propose comments for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CommentTargets {
    /// The issue that the plan names.
    #[default]
    Plan,
    Any,
}

/// The limits of the posts that agents of a run may propose, and their place.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PostRules {
    pub issues: PostRule,
    pub comments: PostRule,
    /// Maximum number of proposals in the run.
    pub max: u32,
    /// Put before the title of every issue.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title_prefix: String,
    /// The labels that an agent may give to an issue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    pub comments_on: CommentTargets,
    /// The address of the repository of `origin` when the run began; `None` without one that ralph reaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The number of the issue that the plan named when the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<u64>,
}

/// Why a proposal is not recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostRefusal {
    Off,
    UsedUp { max: u32 },
    Label { label: String, labels: Vec<String> },
    OtherNumber { number: u64, issue: Option<u64> },
}

impl PostRules {
    /// Whether agents can propose nothing.
    pub fn is_off(&self) -> bool {
        self.issues == PostRule::Off && self.comments == PostRule::Off
    }

    /// The rule for a post.
    pub fn rule(&self, post: &ForgePost) -> PostRule {
        match post {
            ForgePost::Issue { .. } => self.issues,
            ForgePost::Comment { .. } => self.comments,
        }
    }

    /// Whether the settings let a post through. They do not without a repository: a remote that comes later may be an agent's.
    pub fn lets_through(&self, post: &ForgePost) -> bool {
        self.rule(post) == PostRule::Allow && self.repository.is_some()
    }

    /// Why a post cannot be proposed after `proposed` others; `None` if it can be.
    pub fn refusal(&self, post: &ForgePost, proposed: usize) -> Option<PostRefusal> {
        if self.rule(post) == PostRule::Off {
            return Some(PostRefusal::Off);
        }
        if proposed >= self.max as usize {
            return Some(PostRefusal::UsedUp { max: self.max });
        }
        match post {
            ForgePost::Issue { labels, .. } => {
                let is_unknown = |label: &&Text<100>| !self.labels.iter().any(|known| *known == label.as_str());
                labels.iter().find(is_unknown).map(|label| PostRefusal::Label {
                    label: label.to_string(),
                    labels: self.labels.clone(),
                })
            }
            ForgePost::Comment { number, .. } => {
                let is_open = self.comments_on == CommentTargets::Any || self.issue == Some(*number);
                (!is_open).then_some(PostRefusal::OtherNumber {
                    number: *number,
                    issue: self.issue,
                })
            }
        }
    }

    /// Returns the rules of a resumed run. The run's place stays: an agent can have changed the remote and the plan since.
    #[must_use]
    pub fn resumed(&self, before: &PostRules) -> PostRules {
        if before.is_off() {
            return self.clone();
        }
        PostRules {
            repository: before.repository.clone(),
            issue: before.issue,
            ..self.clone()
        }
    }
}

/// The source of the decision on a proposed post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum PostDecider {
    User { at: AnswerPlace },
    Settings,
}

/// The result of an attempt to post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostResult {
    /// The post is on the forge. `number` is that of the new issue, or of what was commented on.
    Made { number: u64, url: Text },
    /// The forge may take the post later, so ralph tries again.
    Waits { why: Text },
    /// The user has to do something first.
    Failed { why: Text },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issue_and_a_comment_have_a_body() {
        let body = || "It crashes.".into();
        let issue = ForgePost::Issue {
            title: "Crash".into(),
            body: body(),
            labels: List::default(),
        };
        let comment = ForgePost::Comment {
            number: 7,
            body: body(),
        };
        assert_eq!(issue.body(), "It crashes.");
        assert_eq!(comment.body(), "It crashes.");
    }

    #[test]
    fn a_body_of_8_kib_is_whole_and_a_longer_one_is_cut() {
        let comment = |bytes| ForgePost::Comment {
            number: 7,
            body: "x".repeat(bytes).into(),
        };
        assert_eq!(comment(8_192).body().len(), 8_192);
        let longer = comment(8_193);
        assert!(longer.body().len() <= 8_192 && longer.body().ends_with("[…]"));
    }

    #[test]
    fn posts_are_off_only_if_neither_issues_nor_comments_are_let_through() {
        for (issues, comments, is_off) in [
            (PostRule::Off, PostRule::Off, true),
            (PostRule::Ask, PostRule::Off, false),
            (PostRule::Off, PostRule::Allow, false),
            (PostRule::Allow, PostRule::Ask, false),
        ] {
            let rules = PostRules {
                issues,
                comments,
                ..PostRules::default()
            };
            assert_eq!(rules.is_off(), is_off, "{issues:?} {comments:?}");
        }
    }
}
