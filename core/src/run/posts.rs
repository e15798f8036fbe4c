//! Issues and comments that agents proposed for the forge, and what became of them.

use serde::{Deserialize, Serialize};

use crate::event::{AgentCall, AnswerPlace, Event, ForgePost, PostDecider};

/// The proposed posts of a run, in the order of their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Posts {
    list: Vec<ProposedPost>,
}

/// A proposed post.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProposedPost {
    /// The number that a decision refers to.
    pub ask: u32,
    pub iteration: u32,
    pub at_ms: u64,
    pub post: Box<ForgePost>,
    pub state: PostState,
}

/// The state of a proposed post.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum PostState {
    /// The user has to decide.
    Open,
    Refused {
        by: PostDecider,
        why: Option<String>,
    },
    /// It was let through, and ralph posts it.
    Due {
        by: PostDecider,
        /// Why it is not on the forge yet.
        why: Option<String>,
    },
    /// It was let through, and is not on the forge; the user has to let it through once more.
    Failed {
        why: String,
    },
    Made {
        number: u64,
        url: String,
    },
}

impl ProposedPost {
    /// Whether the user has to decide on it.
    pub fn is_open(&self) -> bool {
        matches!(self.state, PostState::Open | PostState::Failed { .. })
    }

    pub fn is_due(&self) -> bool {
        matches!(self.state, PostState::Due { .. })
    }

    /// The interface of the user's decision, until it is on the forge.
    pub fn decided_at(&self) -> Option<AnswerPlace> {
        match self.state {
            PostState::Refused {
                by: PostDecider::User { at },
                ..
            }
            | PostState::Due {
                by: PostDecider::User { at },
                ..
            } => Some(at),
            PostState::Refused { .. }
            | PostState::Due { .. }
            | PostState::Open
            | PostState::Failed { .. }
            | PostState::Made { .. } => None,
        }
    }

    /// Why it is not on the forge, although it was let through.
    pub fn trouble(&self) -> Option<&str> {
        match &self.state {
            PostState::Failed { why } => Some(why),
            PostState::Due { why, .. } => why.as_deref(),
            PostState::Open | PostState::Refused { .. } | PostState::Made { .. } => None,
        }
    }
}

impl Posts {
    /// Applies an event. Returns the numbers of those that it changed.
    pub(super) fn apply(&mut self, at_ms: u64, event: &Event) -> Vec<u32> {
        match event {
            Event::AgentCalled {
                iteration,
                call: AgentCall::PostProposed { ask, post },
            } => {
                self.list.push(ProposedPost {
                    ask: *ask,
                    iteration: *iteration,
                    at_ms,
                    post: post.clone(),
                    state: PostState::Open,
                });
                vec![*ask]
            }
            Event::PostDecided { ask, allowed, by, why } => {
                let why = why.as_ref().map(ToString::to_string);
                self.set(
                    *ask,
                    match allowed {
                        true => PostState::Due { by: *by, why: None },
                        false => PostState::Refused { by: *by, why },
                    },
                )
            }
            Event::PostMade { ask, number, url } => {
                let (number, url) = (*number, url.to_string());
                self.set(*ask, PostState::Made { number, url })
            }
            Event::PostFailed { ask, why, waits } => {
                let why = why.to_string();
                let state = match self.numbered(*ask).map(|known| &known.state) {
                    Some(PostState::Due { by, .. }) if *waits => PostState::Due {
                        by: *by,
                        why: Some(why),
                    },
                    _ => PostState::Failed { why },
                };
                self.set(*ask, state)
            }
            // The loop that would post it is over.
            Event::RunStopped { .. } => {
                let due: Vec<&mut ProposedPost> = self.list.iter_mut().filter(|proposed| proposed.is_due()).collect();
                due.into_iter()
                    .map(|proposed| {
                        let why = proposed.trouble().unwrap_or("the run ended before").to_owned();
                        proposed.state = PostState::Failed { why };
                        proposed.ask
                    })
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    fn set(&mut self, ask: u32, state: PostState) -> Vec<u32> {
        match self.list.iter_mut().find(|proposed| proposed.ask == ask) {
            Some(proposed) => {
                proposed.state = state;
                vec![ask]
            }
            None => Vec::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Number of proposals.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &ProposedPost> {
        self.list.iter()
    }

    pub fn numbered(&self, ask: u32) -> Option<&ProposedPost> {
        self.list.iter().find(|proposed| proposed.ask == ask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::StopReason;

    const USER: PostDecider = PostDecider::User { at: AnswerPlace::Page };

    fn proposed() -> Event {
        Event::AgentCalled {
            iteration: 1,
            call: AgentCall::PostProposed {
                ask: 1,
                post: Box::new(ForgePost::Comment {
                    number: 42,
                    body: "It is fixed.".into(),
                }),
            },
        }
    }

    fn decided(allowed: bool, by: PostDecider) -> Event {
        Event::PostDecided {
            ask: 1,
            allowed,
            by,
            why: None,
        }
    }

    #[test]
    fn a_proposal_is_due_between_its_permission_and_its_result_and_then_tells_where_it_was_decided() {
        let failed = |waits| Event::PostFailed {
            ask: 1,
            why: "no token".into(),
            waits,
        };
        let made = || Event::PostMade {
            ask: 1,
            number: 42,
            url: "https://forge/42".into(),
        };
        let page = Some(AnswerPlace::Page);
        for (events, is_open, is_due, at) in [
            (vec![], true, false, None),
            (vec![decided(true, USER)], false, true, page),
            (vec![decided(true, USER), failed(true)], false, true, page),
            (vec![decided(true, USER), failed(false)], true, false, None),
            (vec![decided(true, USER), made()], false, false, None),
            (vec![decided(true, PostDecider::Settings)], false, true, None),
            (vec![decided(false, USER)], false, false, page),
        ] {
            let mut posts = Posts::default();
            for event in [proposed()].iter().chain(&events) {
                assert_eq!(posts.apply(5, event), [1]);
            }
            let post = posts.numbered(1).unwrap();
            let found = (post.is_open(), post.is_due(), post.decided_at());
            assert_eq!(found, (is_open, is_due, at), "{events:?}");
        }
    }

    #[test]
    fn only_a_due_post_fails_with_the_end_of_the_run() {
        let stopped = Event::RunStopped {
            reason: StopReason::Requested,
            hints: Vec::new().into(),
            totals: Default::default(),
        };
        let mut posts = Posts::default();
        assert!(posts.is_empty());
        posts.apply(5, &proposed());
        assert!(!posts.is_empty());
        assert_eq!(posts.apply(6, &stopped), [0; 0]);
        assert_eq!(posts.numbered(1).unwrap().state, PostState::Open);
        posts.apply(7, &decided(true, USER));
        assert_eq!(posts.apply(8, &stopped), [1]);
        assert_eq!(posts.numbered(1).unwrap().trouble(), Some("the run ended before"));
    }
}
