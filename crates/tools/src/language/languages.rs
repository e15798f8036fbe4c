//! The language tools of a run: answers an agent's questions, with bounds on their number and time.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::{Semaphore, mpsc};

use super::{
    ask::ask,
    facts::{LanguageAnswer, LanguageQuery, QueryError},
    home::Home,
    pool::{ServerNotice, ServerPool},
    table::LanguageServer,
};

/// The time limit of an answer, including the start of its server: less than the client of a tool waits.
const ANSWER: Duration = Duration::from_secs(35);
/// Most questions at a time.
const QUESTIONS: usize = 16;

/// The language tools of a run. Clones share the same state.
#[derive(Debug, Clone)]
pub struct Languages {
    servers: ServerPool,
    questions: Arc<Semaphore>,
}

impl Languages {
    /// Creates the tools with those servers in `rows` whose programs are installed. Messages for the user go to `notices`.
    pub fn new(rows: Vec<LanguageServer>, home: Home, notices: mpsc::Sender<ServerNotice>) -> Self {
        Self {
            servers: ServerPool::new(rows, home, notices),
            questions: Arc::new(Semaphore::new(QUESTIONS)),
        }
    }

    /// Answers a question within a bounded time. Edits are made only to files that are `permitted`.
    ///
    /// # Errors
    /// [`QueryError`]
    pub async fn answer(
        &self,
        question: LanguageQuery,
        permitted: impl Fn(&Path) -> bool + Send + Sync + 'static,
    ) -> Result<LanguageAnswer, QueryError> {
        let Ok(_place) = self.questions.try_acquire() else {
            return Err(QueryError::Busy { most: QUESTIONS });
        };
        let (until, permitted) = (Instant::now() + ANSWER, Arc::new(permitted));
        let asking = || {
            let permitted = Arc::clone(&permitted);
            ask(&self.servers, question.clone(), until, move |path| permitted(path))
        };
        match asking().await {
            // The server is restarted once. Edits are made only after the final answer, so none are repeated.
            Err(QueryError::Ended { .. }) => asking().await,
            answered => answered,
        }
    }

    /// Ends all servers and waits until their processes are gone. No further server is started.
    pub async fn close(&self) {
        self.servers.close().await;
    }
}
