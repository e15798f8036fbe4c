//! A run that no ralph serves, read from its journal and files.
//!
//! It can be viewed, and its open requests can be answered if it is the last run of its project.

use std::convert::Infallible;

use axum::{
    Extension, Router,
    http::{HeaderMap, Method},
    response::{IntoResponse, Response, sse::Sse},
    routing::{get, post},
};
use futures_util::{StreamExt, stream};
use ralph_core::{
    event::{Answer, RunId, UserCommand},
    run::RunView,
};
use ralph_driver::{CommentOutcome, DeferredMessage, LeaveOutcome, OpenError, status_of, whole_status};
use ralph_git::Repository;
use ralph_state::{
    control::{ClientRole, RunStatus},
    store::journal::{JournalReader, read_view},
};
use ralph_system::{paths::ProjectPaths, proc::Supervisor};
use ralph_text::with_causes;
use ralph_words::{command_refusal_in_words, queued_message_in_words};
use serde_json::Value;

use super::{
    answering::AnswerQuery,
    archive::{StoredRun, journal_problem},
    events::{EventsQuery, first_record, over, record_event, snapshot},
    extract::{Path, Query},
    files,
    json::Json,
    plan_file,
    problem::{ApiProblem, HttpResult},
    served::{CommandResult, asks_json, plan_json, tagged},
    terminal,
};

/// Records read at a time.
const RECORDS: usize = 256;

/// The routes of a past run. Requests need a [`StoredRun`] among their extensions.
pub(super) fn routes() -> Router {
    Router::new()
        .route("/run", get(run))
        .route("/status", get(status))
        .route("/plan", get(plan))
        .route("/plan/file", get(plan_file::file).post(plan_file::edit))
        .route("/asks", get(asks))
        .route("/asks/{n}", post(answer))
        .route("/commands", post(command))
        .route("/events", get(events))
        .route("/terminal", get(terminal::past_terminal))
        .merge(files::routes())
        .fallback(nothing_to_do)
        .method_not_allowed_fallback(nothing_to_do)
}

async fn view(stored: &StoredRun) -> HttpResult<RunView> {
    let read = stored.read(|paths, run, _| read_view(paths, run).map_err(|error| journal_problem(&error)));
    read.await.map(|(view, _)| view)
}

async fn run(stored: StoredRun, headers: HeaderMap) -> HttpResult<Response> {
    Ok(tagged(&headers, &whole_status(view(&stored).await?, 0, None)))
}

async fn status(stored: StoredRun) -> HttpResult<Json<RunStatus>> {
    Ok(Json(status_of(&view(&stored).await?, 0, None)))
}

async fn plan(stored: StoredRun) -> HttpResult<Json<Value>> {
    Ok(Json(plan_json(&view(&stored).await?)))
}

async fn asks(stored: StoredRun) -> HttpResult<Json<Value>> {
    Ok(Json(asks_json(&view(&stored).await?)))
}

/// Stores the answer for the `ralph continue` that delivers it, as `ralph answer` does.
async fn answer(
    stored: StoredRun,
    Extension(role): Extension<ClientRole>,
    Path(ask): Path<u32>,
    Query(AnswerQuery { at }): Query<AnswerQuery>,
    body: HttpResult<Json<Answer>>,
) -> HttpResult<Json<CommandResult>> {
    let Json(answer) = body?;
    match role {
        ClientRole::User => {}
        ClientRole::Reader | ClientRole::Agent => {
            return Err(ApiProblem::forbidden("only the user can answer an agent"));
        }
    }
    if matches!(answer, Answer::Allow { remember: Some(_) }) {
        // The project's settings decide about rules, and this server does not read them.
        return Err(ApiProblem::conflict(format!(
            "this run is not active, and rules cannot be added to it here: `ralph answer {ask} always` in its project adds \
             them"
        )));
    }
    let message = DeferredMessage::Answer { ask, answer, at };
    let left = stored.read(move |paths, run, _| {
        if paths.latest_run().as_ref() != Some(run) {
            return Err(ApiProblem::conflict(
                "this project has a later run: only the last one accepts answers",
            ));
        }
        ralph_driver::leave(paths, &message, None).map_err(|error| open_problem(&error))
    });
    match left.await?.0 {
        LeaveOutcome::Queued { id, plan, rules } => Ok(Json(CommandResult::without_record(queued_message_in_words(
            id, &plan, &rules,
        )))),
        LeaveOutcome::Confirmed(words) => Ok(Json(CommandResult::without_record(words.to_owned()))),
        LeaveOutcome::NoRun => Err(ApiProblem::not_found("there is no such run")),
        LeaveOutcome::Refused { why } => Err(ApiProblem::conflict(why)),
    }
}

/// Carries out a command about comments, as `ralph comment` does. Any other command needs a loop.
async fn command(
    stored: StoredRun,
    Extension(role): Extension<ClientRole>,
    body: HttpResult<Json<UserCommand>>,
) -> HttpResult<Json<CommandResult>> {
    let Json(command) = body?;
    match role {
        ClientRole::User => {}
        ClientRole::Reader | ClientRole::Agent => return Err(ApiProblem::forbidden("only the user can comment")),
    }
    if !command.is_about_comments() {
        return Err(nothing_to_do(stored, Method::POST).await);
    }
    let changed = stored.read(move |paths, run, supervisor| {
        if paths.latest_run().as_ref() != Some(run) {
            return Err(ApiProblem::conflict(
                "this project has a later run: only the last one accepts comments",
            ));
        }
        let command = match command.lacks_lines() {
            true => commented(paths, run, command, supervisor)?,
            false => command,
        };
        if let Some(refusal) = command.refusal() {
            return Err(ApiProblem::conflict(command_refusal_in_words(&refusal)));
        }
        ralph_driver::change_comments(paths, &command).map_err(|error| open_problem(&error))
    });
    match changed.await?.0 {
        CommentOutcome::Done { text } => Ok(Json(CommandResult::without_record(text))),
        CommentOutcome::Refused { why } => Err(ApiProblem::conflict(why)),
        CommentOutcome::NoRun => Err(ApiProblem::not_found("there is no such run")),
    }
}

/// Fills in the lines of a comment.
fn commented(
    paths: &ProjectPaths,
    run: &RunId,
    command: UserCommand,
    supervisor: &Supervisor,
) -> HttpResult<UserCommand> {
    let view = read_view(paths, run).map_err(|error| journal_problem(&error))?;
    let scratch = tempfile::tempdir().map_err(|error| ApiProblem::failed(error.to_string()))?;
    let (repository, _) = Repository::discover(paths.project(), scratch.path(), &paths.states(), supervisor)
        .map_err(|error| ApiProblem::not_found(with_causes(&error)))?;
    Ok(ralph_driver::with_lines(command, &view, paths.project(), &repository))
}

fn open_problem(error: &OpenError) -> ApiProblem {
    match error {
        OpenError::Lock(_) => ApiProblem::conflict(with_causes(error)),
        OpenError::Paths(_)
        | OpenError::Journal(_)
        | OpenError::Rules(_)
        | OpenError::Helpers { .. }
        | OpenError::Originals(_)
        | OpenError::Store(_)
        | OpenError::State { .. }
        | OpenError::MessageWaits { .. } => ApiProblem::failed(with_causes(error)),
    }
}

async fn events(stored: StoredRun, headers: HeaderMap, Query(query): Query<EventsQuery>) -> HttpResult<Response> {
    let view = view(&stored).await?;
    let (records, exit) = (view.records, view.stop_reason().map(|reason| reason.exit_code()));
    let state = snapshot(&whole_status(view, 0, None))?;
    let (first, snapshot) = match first_record(&query, &headers, records)? {
        Some(first) => (first, None),
        None => (records, Some(state.clone())),
    };
    let end = query.last.then_some(state).into_iter().chain([over(exit)]);
    let reader = JournalReader::open(&stored.journal()).map_err(|error| journal_problem(&error))?;
    let recorded = stream::unfold((stored, Some(reader)), move |(stored, reader)| async move {
        let mut reader = reader?;
        let read = stored.read(move |_, _, _| {
            let mut events = Vec::new();
            while events.len() < RECORDS
                && reader.next_seq() < records
                && let Ok(Some(record)) = reader.next_record()
            {
                events.extend((record.seq >= first).then(|| record_event(&record, query.words)));
            }
            // The end of the journal, or an unreadable record.
            let goes_on = events.len() == RECORDS;
            Ok((events, goes_on.then_some(reader)))
        });
        let ((events, reader), _) = read.await.ok()?;
        Some((stream::iter(events), (stored, reader)))
    });
    let events = stream::iter(snapshot)
        .chain(recorded.flatten())
        .chain(stream::iter(end));
    Ok(Sse::new(events.map(Ok::<_, Infallible>)).into_response())
}

async fn nothing_to_do(stored: StoredRun, method: Method) -> ApiProblem {
    match method {
        Method::GET | Method::HEAD => ApiProblem::not_found("no such route of a past run; GET /doc lists the routes"),
        _ => ApiProblem::conflict(format!(
            "run {} is not active (read-only); `ralph` in its project resumes it or starts the next",
            stored.run()
        )),
    }
}
