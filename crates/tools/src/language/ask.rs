//! Answers a question: finds its place and its server, and queries that.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use ralph_text::with_causes;
use serde_json::{Value, json};

use super::{
    answers,
    documents::Update,
    edits::EditPlan,
    facts::{LanguageAnswer, LanguageQuery, OutlineItem, QueryError, Results, SymbolPosition},
    home::{blocking, confined},
    places::{LineReader, QueriedFile},
    pool::ServerPool,
    server::RunningServer,
    source::{SourceText, resolve},
    state::PublishedDiagnostics,
    trees, uri,
};

/// Most bytes of a hover text.
const HOVER_BYTES: usize = 8 << 10;
/// How long to wait for diagnostics of a file if the server publishes none.
const DIAGNOSTICS: Duration = Duration::from_secs(10);

pub(super) async fn ask(
    languages: &ServerPool,
    question: LanguageQuery,
    until: Instant,
    permitted: impl Fn(&Path) -> bool + Send + Sync + 'static,
) -> Result<LanguageAnswer, QueryError> {
    let asking = QueryContext { languages, until };
    match question {
        LanguageQuery::Definition(at) => asking.definition(&at).await,
        LanguageQuery::References(at) => asking.references(&at).await,
        LanguageQuery::Hover(at) => asking.hover(&at).await,
        LanguageQuery::Outline { file } => asking.outline(&file).await,
        LanguageQuery::Symbols { name } => asking.symbols(&name).await,
        LanguageQuery::Diagnostics { file: Some(file) } => asking.diagnostics(&file).await,
        LanguageQuery::Diagnostics { file: None } => asking.all_diagnostics().await,
        LanguageQuery::Search(pattern) => trees::search(languages, &pattern, until).await,
        LanguageQuery::Replace {
            pattern,
            rewrite,
            apply,
        } => {
            let plan = trees::replace(languages, &pattern, &rewrite, until).await?;
            make(languages, plan, apply, permitted).await
        }
        LanguageQuery::Rename { at, name, apply } => asking.rename(&at, &name, apply, permitted).await,
    }
}

/// A server and the diagnostics that it has published.
type ServerDiagnostics = (Arc<RunningServer>, Vec<(PathBuf, PublishedDiagnostics)>);

struct QueryContext<'a> {
    languages: &'a ServerPool,
    until: Instant,
}

/// A file that was opened on its server in its present state.
struct Opened {
    path: PathBuf,
    server: Arc<RunningServer>,
    source: Arc<SourceText>,
    news: Update,
}

impl Opened {
    fn at(&self, at: &SymbolPosition) -> Result<Value, QueryError> {
        let asked = QueriedFile {
            path: &self.path,
            source: &self.source,
            encoding: self.server.encoding,
        };
        asked.params(at)
    }
}

impl QueryContext<'_> {
    async fn open(&self, file: &str) -> Result<Opened, QueryError> {
        let (home, named) = (self.languages.home().clone(), file.to_owned());
        let unreadable = |why: String| QueryError::Unreadable {
            file: file.to_owned(),
            why,
        };
        let path = blocking(move || {
            let found = confined(&home, || resolve(&home.project, &named));
            found.unwrap_or_else(|error| {
                Err(QueryError::Unreadable {
                    file: named.clone(),
                    why: with_causes(&error),
                })
            })
        });
        let path = path.await?;
        let server = self.languages.server_for(&path, self.until).await?;
        let (source, news) = server.catch_up(Some(&path)).await?;
        Ok(Opened {
            source: source.ok_or_else(|| unreadable(String::new()))?,
            path,
            server,
            news,
        })
    }

    fn needs(&self, server: &RunningServer, what: &str) -> Result<(), QueryError> {
        match server.can(what) {
            true => Ok(()),
            false => Err(QueryError::Unsupported {
                server: server.row.name.clone(),
            }),
        }
    }

    /// The places in an answer, with their source lines.
    async fn places(
        &self,
        server: &RunningServer,
        answer: Value,
    ) -> Result<Results<super::facts::SourceLocation>, QueryError> {
        let (mut lines, encoding) = (LineReader::new(self.languages.home()), server.encoding);
        let read = blocking(move || Ok(answers::places(&answer, &mut lines, encoding)));
        let (items, more) = read.await?;
        let results = answers::bounded(items, server.still());
        Ok(Results {
            more: results.more + more,
            ..results
        })
    }

    async fn definition(&self, at: &SymbolPosition) -> Result<LanguageAnswer, QueryError> {
        let opened = self.open(&at.file).await?;
        self.needs(&opened.server, "definitionProvider")?;
        let params = opened.at(at)?;
        let answer = opened
            .server
            .answer("textDocument/definition", &params, self.until)
            .await?;
        let mut results = self.places(&opened.server, answer).await?;
        if !results.items.is_empty() {
            // Further indexing does not change where a symbol is defined.
            results.indexing = None;
        }
        Ok(LanguageAnswer::Definitions(results))
    }

    async fn references(&self, at: &SymbolPosition) -> Result<LanguageAnswer, QueryError> {
        let opened = self.open(&at.file).await?;
        self.needs(&opened.server, "referencesProvider")?;
        let mut params = opened.at(at)?;
        params["context"] = json!({"includeDeclaration": true});
        // A partial list would mislead, so the server must have seen all files.
        opened.server.settled(self.until).await;
        let answer = opened
            .server
            .answer("textDocument/references", &params, self.until)
            .await?;
        Ok(LanguageAnswer::References(self.places(&opened.server, answer).await?))
    }

    async fn hover(&self, at: &SymbolPosition) -> Result<LanguageAnswer, QueryError> {
        let opened = self.open(&at.file).await?;
        self.needs(&opened.server, "hoverProvider")?;
        let params = opened.at(at)?;
        let answer = opened.server.answer("textDocument/hover", &params, self.until).await?;
        let mut text = answers::hover(&answer);
        let mut end = text.len().min(HOVER_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        Ok(LanguageAnswer::Hover {
            text,
            still: opened.server.still(),
        })
    }

    async fn outline(&self, file: &str) -> Result<LanguageAnswer, QueryError> {
        let opened = self.open(file).await?;
        self.needs(&opened.server, "documentSymbolProvider")?;
        let address = uri::from_path(&opened.path);
        let params = json!({"textDocument": {"uri": address}});
        let answer = opened
            .server
            .answer("textDocument/documentSymbol", &params, self.until)
            .await?;
        let (mut lines, encoding) = (LineReader::new(self.languages.home()), opened.server.encoding);
        let read = blocking(move || Ok(answers::symbols(&answer, Some(&address), &mut lines, encoding)));
        let (items, more) = read.await?;
        let results = answers::bounded(items, opened.server.still());
        Ok(LanguageAnswer::Outline(Results {
            more: results.more + more,
            ..results
        }))
    }

    async fn symbols(&self, name: &str) -> Result<LanguageAnswer, QueryError> {
        if name.trim().is_empty() {
            return Err(QueryError::NoQuestion);
        }
        let servers = self.languages.servers_of_project(self.until).await?;
        let (mut all, mut more, mut still): (Vec<OutlineItem>, usize, _) = (Vec::new(), 0, None);
        let mut failed = None;
        for server in servers {
            if !server.can("workspaceSymbolProvider") {
                continue;
            }
            server.catch_up(None).await?;
            server.settled(self.until).await;
            let answer = match server
                .answer("workspace/symbol", &json!({"query": name}), self.until)
                .await
            {
                Ok(answer) => answer,
                Err(why) => {
                    failed = Some(why);
                    continue;
                }
            };
            let (mut lines, encoding) = (LineReader::new(self.languages.home()), server.encoding);
            let read = blocking(move || Ok(answers::symbols(&answer, None, &mut lines, encoding)));
            let (items, left) = read.await?;
            all.extend(items);
            more += left;
            still = still.or_else(|| server.still());
        }
        match failed {
            Some(why) if all.is_empty() => Err(why),
            Some(_) | None => {
                let results = answers::bounded(all, still);
                Ok(LanguageAnswer::Symbols(Results {
                    more: results.more + more,
                    ..results
                }))
            }
        }
    }

    async fn diagnostics(&self, file: &str) -> Result<LanguageAnswer, QueryError> {
        let begun = Instant::now();
        // Taken before the server learns of the change: its later messages concern the changed file.
        let opened = self.open(file).await?;
        let (server, path) = (&opened.server, &opened.path);
        if server.is_asked_for_diagnostics() {
            let found = self.asked_diagnostics(server, path).await?;
            return self.messages(&[(Arc::clone(server), vec![found])]).await;
        }
        let until = self.until.min(begun + DIAGNOSTICS);
        let said = |server: &RunningServer| server.link.published(path).is_some();
        if opened.news == Update::Some || !said(server) {
            while !said(server) && !server.link.says_done() && server.link.ended().is_none() && Instant::now() < until {
                server.news(until).await;
            }
            server.quiet(begun, self.until).await;
        }
        server.settled(self.until).await;
        if let Some(why) = server.link.ended() {
            let server = server.row.name.clone();
            return Err(QueryError::Ended { server, why });
        }
        let published: Vec<_> = server
            .link
            .published(path)
            .map(|published| (path.clone(), published))
            .into_iter()
            .collect();
        self.messages(&[(Arc::clone(server), published)]).await
    }

    async fn all_diagnostics(&self) -> Result<LanguageAnswer, QueryError> {
        let mut published = Vec::new();
        for server in self.languages.servers_of_project(self.until).await? {
            let begun = Instant::now();
            if server.catch_up(None).await?.1 == Update::Some {
                server.quiet(begun, self.until).await;
            }
            server.settled(self.until).await;
            let mut all = server.link.all_published();
            if server.is_asked_for_diagnostics() {
                for path in server.opened().await {
                    all.push(self.asked_diagnostics(&server, &path).await?);
                }
            }
            published.push((server, all));
        }
        self.messages(&published).await
    }

    /// The diagnostics of a server that reports them only on request.
    async fn asked_diagnostics(
        &self,
        server: &RunningServer,
        path: &Path,
    ) -> Result<(PathBuf, PublishedDiagnostics), QueryError> {
        let params = json!({"textDocument": {"uri": uri::from_path(path)}});
        let answer = server.answer("textDocument/diagnostic", &params, self.until).await?;
        Ok((
            path.to_owned(),
            PublishedDiagnostics::from_response(&answer["items"], 0),
        ))
    }

    async fn messages(&self, published: &[ServerDiagnostics]) -> Result<LanguageAnswer, QueryError> {
        let (mut all, mut more, mut still) = (Vec::new(), 0, None);
        for (server, published) in published {
            let (mut lines, encoding) = (LineReader::new(self.languages.home()), server.encoding);
            let published = published.clone();
            let read = blocking(move || Ok(answers::messages(&published, &mut lines, encoding)));
            let (items, left) = read.await?;
            all.extend(items);
            more += left;
            still = still.or_else(|| server.still());
        }
        let results = answers::bounded(all, still);
        Ok(LanguageAnswer::Diagnostics(Results {
            more: results.more + more,
            ..results
        }))
    }

    async fn rename(
        &self,
        at: &SymbolPosition,
        name: &str,
        applies: bool,
        permitted: impl Fn(&Path) -> bool + Send + Sync + 'static,
    ) -> Result<LanguageAnswer, QueryError> {
        let opened = self.open(&at.file).await?;
        let server = &opened.server;
        self.needs(server, "renameProvider")?;
        let mut params = opened.at(at)?;
        params["newName"] = name.into();
        server.settled(self.until).await;
        if let Some(still) = server.still() {
            // The server would not rename in files that it has not seen.
            let after_ms = 0;
            return Err(QueryError::Late { still, after_ms });
        }
        let edit = server.answer("textDocument/rename", &params, self.until).await?;
        let (home, encoding, named) = (self.languages.home().clone(), server.encoding, server.row.name.clone());
        let plan = blocking(move || EditPlan::from_workspace_edit(&edit, encoding, &named, &home)).await?;
        // The edits apply only to the texts that the server knows.
        if let Some(path) = server.knows(&plan.stamps()).await {
            let path = super::source::display_path(&self.languages.home().project, &path);
            return Err(QueryError::ChangedMeanwhile { path });
        }
        make(self.languages, plan, applies, permitted).await
    }
}

/// Returns the planned edits, and makes them if `applies`.
async fn make(
    languages: &ServerPool,
    plan: EditPlan,
    applies: bool,
    permitted: impl Fn(&Path) -> bool + Send + Sync + 'static,
) -> Result<LanguageAnswer, QueryError> {
    let files = plan.summary();
    if applies {
        let home = languages.home().clone();
        blocking(move || {
            if let Some(path) = plan.paths().find(|path| !permitted(path)) {
                let path = super::source::display_path(&home.project, path);
                return Err(QueryError::EditsDenied { path });
            }
            plan.write(&home)
        })
        .await?;
    }
    Ok(LanguageAnswer::Edits {
        files,
        applied: applies,
    })
}
