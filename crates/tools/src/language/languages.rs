//! The tools of a run: what an agent may ask them, how many questions at a time, and for how long.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::{Semaphore, mpsc};

use super::{
    ask::ask,
    facts::{Found, NoAnswer, Question},
    home::Home,
    pool::{News, Servers},
    table::LanguageServer,
};

/// How long a question may take, its server's start included: less than the client of a tool waits.
const ANSWER: Duration = Duration::from_secs(35);
/// Most questions at a time.
const QUESTIONS: usize = 16;

/// The language tools of a run. A clone is the same.
#[derive(Debug, Clone)]
pub struct Languages {
    servers: Servers,
    questions: Arc<Semaphore>,
}

impl Languages {
    /// Knows `rows`, of which those count whose program is installed. What its user is told goes to `news`.
    pub fn new(rows: Vec<LanguageServer>, home: Home, news: mpsc::Sender<News>) -> Self {
        Self {
            servers: Servers::new(rows, home, news),
            questions: Arc::new(Semaphore::new(QUESTIONS)),
        }
    }

    /// Answers a question, whatever happens within a bounded time. Edits are made only to files that are `permitted`.
    ///
    /// # Errors
    /// [`NoAnswer`]
    pub async fn answer(
        &self,
        question: Question,
        permitted: impl Fn(&Path) -> bool + Send + Sync + 'static,
    ) -> Result<Found, NoAnswer> {
        let Ok(_place) = self.questions.try_acquire() else {
            return Err(NoAnswer::Busy { most: QUESTIONS });
        };
        let (until, permitted) = (Instant::now() + ANSWER, Arc::new(permitted));
        let asking = || {
            let permitted = Arc::clone(&permitted);
            ask(&self.servers, question.clone(), until, move |path| permitted(path))
        };
        match asking().await {
            // It is started once more, and nothing is edited before the last answer is there.
            Err(NoAnswer::Ended { .. }) => asking().await,
            answered => answered,
        }
    }

    /// Ends all servers, and waits until nothing of them is left. No other is started.
    pub async fn close(&self) {
        self.servers.close().await;
    }
}
