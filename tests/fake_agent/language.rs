//! Plays a language server for a language in which `def NAME` defines a word and every other NAME uses it.
//!
//! ```text
//! fake-agent language-server [TROUBLE…]
//! ```
//! | trouble | |
//! |---|---|
//! | `utf-8` | counts columns in bytes instead of UTF-16 |
//! | `log PATH` | appends the names of received messages and requests |
//! | `hang METHOD` | does not answer |
//! | `die METHOD` · `die-once METHOD PATH` | exits with code 3 instead; the second only once, and creates PATH |
//! | `rubbish` | prints lines that are not messages, and messages that the protocol does not know |
//! | `flood` | sends notifications without end, from its first message on |
//! | `index PATH` | reports that it is indexing and knows nothing, until PATH exists |
//! | `edit OTHER` | renames in the file OTHER as well, wherever that is |
//! | `twice` | proposes every edit twice, a letter apart |

use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    io::{self, BufRead, Read, Write},
    path::{Path, PathBuf},
    process, thread,
    time::Duration,
};

use serde_json::{Value, json};

use super::Outcome;

pub(super) fn serve(troubles: &[String]) -> Outcome<()> {
    let mut server = FakeLanguageServer {
        troubles: troubles.to_vec(),
        root: PathBuf::new(),
        open: BTreeMap::new(),
    };
    let mut input = io::stdin().lock();
    loop {
        let mut length = None;
        loop {
            let mut line = String::new();
            if input.read_line(&mut line).map_err(|error| error.to_string())? == 0 {
                return Ok(());
            }
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", value)) => length = value.parse::<usize>().ok(),
                Some(_) => {}
                None if line.trim_end().is_empty() => break,
                None => return Err(format!("no header: {line}")),
            }
        }
        let mut body = vec![0; length.ok_or("no length")?];
        input.read_exact(&mut body).map_err(|error| error.to_string())?;
        let message: Value = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
        server.take(&message);
    }
}

struct FakeLanguageServer {
    troubles: Vec<String>,
    root: PathBuf,
    open: BTreeMap<String, String>,
}

impl FakeLanguageServer {
    fn trouble(&self, name: &str, words: usize) -> Option<&[String]> {
        let at = self.troubles.iter().position(|trouble| trouble == name)?;
        self.troubles.get(at + 1..=at + words)
    }

    fn has(&self, name: &str, of: &str) -> bool {
        self.trouble(name, 1).is_some_and(|words| words[0] == of)
    }

    fn take(&mut self, message: &Value) {
        let (method, params) = (message["method"].as_str().unwrap_or_default(), &message["params"]);
        if let Some([path]) = self.trouble("log", 1) {
            let mut log = OpenOptions::new().create(true).append(true).open(path).expect("a log");
            writeln!(log, "{method}").expect("a line");
        }
        if self.has("hang", method) {
            return;
        }
        if self.has("die", method) {
            _ = writeln!(io::stderr(), "thread 'main' panicked: {method}"); // it ends all the same
            process::exit(3);
        }
        if let Some([of, path]) = self.trouble("die-once", 2)
            && of == method
            && !Path::new(path).exists()
        {
            fs::write(path, "").expect("a mark");
            process::exit(3);
        }
        if self.trouble("rubbish", 0).is_some() {
            // The client may have exited.
            _ = io::stdout().write_all(b"hello\nContent-Length: 4\r\n\r\nnull");
            say(&json!({"id": "x", "result": {}}));
            say(&json!({"method": "textDocument/publishDiagnostics", "params": {"uri": 7, "diagnostics": {}}}));
            say(&json!({"id": 900, "method": "workspace/unknown"}));
        }
        if self.trouble("flood", 0).is_some() && method == "initialized" {
            thread::spawn(|| {
                for n in 0_u64.. {
                    let value = json!({"kind": "begin", "title": "x".repeat(1000)});
                    say(&json!({"method": "window/logMessage", "params": {"message": "y".repeat(100_000)}}));
                    say(&json!({"method": "$/progress", "params": {"token": n, "value": value}}));
                    say(&json!({"method": "$/progress", "params": {"token": n, "value": {"kind": "end"}}}));
                }
            });
        }
        match method {
            "initialize" => {
                let root = params["rootUri"]
                    .as_str()
                    .expect("a root")
                    .trim_start_matches("file://");
                self.root = PathBuf::from(root);
            }
            "initialized" => self.index(),
            "textDocument/didOpen" => self.changed(&params["textDocument"], &params["textDocument"]["text"]),
            "textDocument/didChange" => self.changed(&params["textDocument"], &params["contentChanges"][0]["text"]),
            "textDocument/didClose" => {
                self.open
                    .remove(params["textDocument"]["uri"].as_str().expect("an address"));
            }
            _ => {}
        }
        if let (Some(id), false) = (message.get("id"), method.is_empty()) {
            let result = self.answer(method, params);
            say(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
        }
    }

    fn index(&self) {
        let Some([path]) = self.trouble("index", 1) else { return };
        let path = path.clone();
        let progress = |value: Value| say(&json!({"method": "$/progress", "params": {"token": "i", "value": value}}));
        progress(json!({"kind": "begin", "title": "indexing"}));
        progress(json!({"kind": "report", "percentage": 40}));
        thread::spawn(move || {
            while !Path::new(&path).exists() {
                thread::sleep(Duration::from_millis(10));
            }
            progress(json!({"kind": "end"}));
        });
    }

    fn changed(&mut self, document: &Value, text: &Value) {
        let address = document["uri"].as_str().expect("an address").to_owned();
        let text = text.as_str().expect("a text").to_owned();
        let found: Vec<Value> = self
            .words(&text)
            .into_iter()
            .filter(|(word, _, _)| word == "wrong")
            .map(|(_, range, _)| json!({"range": range, "severity": 1, "source": "fake", "code": 7, "message": "this is wrong"}))
            .collect();
        let params = json!({"uri": address, "diagnostics": found});
        self.open.insert(address, text);
        say(&json!({"method": "textDocument/publishDiagnostics", "params": params}));
    }

    fn answer(&self, method: &str, params: &Value) -> Value {
        if self
            .trouble("index", 1)
            .is_some_and(|words| !Path::new(&words[0]).exists())
            && method != "initialize"
        {
            return Value::Null;
        }
        let word = || self.word_at(&params["textDocument"], &params["position"]);
        let locations = |wanted: &str, defined: bool| {
            let found = self
                .all()
                .into_iter()
                .filter(|(_, word, _, is_definition)| word == wanted && (*is_definition || !defined));
            let found = found.map(|(address, _, range, _)| json!({"uri": address, "range": range}));
            Value::Array(found.collect())
        };
        match method {
            "initialize" => json!({"capabilities": {
                "positionEncoding": if self.trouble("utf-8", 0).is_some() { "utf-8" } else { "utf-16" },
                "definitionProvider": true,
                "referencesProvider": {},
                "hoverProvider": true,
                "documentSymbolProvider": true,
                "workspaceSymbolProvider": true,
                "renameProvider": true,
            }}),
            "textDocument/definition" => word().map_or(Value::Null, |word| locations(&word, true)),
            "textDocument/references" => word().map_or(Value::Null, |word| locations(&word, false)),
            "textDocument/hover" => word().map_or(
                Value::Null,
                |word| json!({"contents": {"value": format!("the word {word}")}}),
            ),
            "textDocument/documentSymbol" | "workspace/symbol" => self.symbols(params),
            "textDocument/rename" => word().map_or(Value::Null, |word| self.rename(&word, &params["newName"])),
            _ => Value::Null,
        }
    }

    fn symbols(&self, params: &Value) -> Value {
        let (file, query) = (params["textDocument"]["uri"].as_str(), params["query"].as_str());
        let defined = self.all().into_iter().filter(|(address, word, _, is_definition)| {
            *is_definition && file.is_none_or(|file| file == address) && query.is_none_or(|query| word.contains(query))
        });
        let symbol = |(address, word, range, _): (String, String, Value, bool)| match file {
            Some(_) => json!({"name": word, "kind": 12, "range": range, "selectionRange": range}),
            None => json!({"name": word, "kind": 12, "location": {"uri": address, "range": range}}),
        };
        defined.map(symbol).collect()
    }

    fn rename(&self, wanted: &str, name: &Value) -> Value {
        let mut changes: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for (address, word, range, _) in self.all() {
            if word == wanted {
                let edits = changes.entry(address).or_default();
                edits.push(json!({"range": range, "newText": name}));
                if self.trouble("twice", 0).is_some() {
                    let mut range = range.clone();
                    range["start"]["character"] = json!(range["start"]["character"].as_u64().unwrap_or(0) + 1);
                    edits.push(json!({"range": range, "newText": name}));
                }
            }
        }
        if let Some([other]) = self.trouble("edit", 1) {
            let start = json!({"line": 0, "character": 0});
            let edit = json!({"range": {"start": start, "end": start}, "newText": name});
            changes.insert(format!("file://{other}"), vec![edit]);
        }
        json!({"changes": changes})
    }

    fn word_at(&self, document: &Value, position: &Value) -> Option<String> {
        let text = self.open.get(document["uri"].as_str()?)?;
        let is_here = |range: &Value| {
            range["start"]["line"] == position["line"]
                && range["start"]["character"].as_u64() <= position["character"].as_u64()
                && position["character"].as_u64() < range["end"]["character"].as_u64()
        };
        let mut words = self.words(text).into_iter();
        words.find(|(_, range, _)| is_here(range)).map(|(word, _, _)| word)
    }

    /// Every word of the project: its file, its text, its range, and whether it is defined there.
    fn all(&self) -> Vec<(String, String, Value, bool)> {
        let mut files = self.open.clone();
        for entry in fs::read_dir(&self.root).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "fake") {
                let address = format!("file://{}", path.display());
                files
                    .entry(address)
                    .or_insert_with(|| fs::read_to_string(&path).unwrap_or_default());
            }
        }
        let words = files.iter().flat_map(|(address, text)| {
            let of_file = move |(word, range, is_definition)| (address.clone(), word, range, is_definition);
            self.words(text).into_iter().map(of_file)
        });
        words.collect()
    }

    fn words(&self, text: &str) -> Vec<(String, Value, bool)> {
        let units = |text: &str| match self.trouble("utf-8", 0) {
            Some(_) => text.len(),
            None => text.encode_utf16().count(),
        };
        let mut found = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let (mut at, mut after_def) = (0, false);
            for word in line.split(|character: char| !character.is_alphanumeric()) {
                let place = |bytes: usize| json!({"line": number, "character": units(&line[..bytes])});
                if !word.is_empty() && word != "def" {
                    let range = json!({"start": place(at), "end": place(at + word.len())});
                    found.push((word.to_owned(), range, after_def));
                }
                after_def = word == "def";
                at += word.len();
                at += line[at..].chars().next().map_or(0, char::len_utf8);
            }
        }
        found
    }
}

fn say(message: &Value) {
    let body = message.to_string();
    let mut out = io::stdout().lock();
    // The client may have exited.
    _ = write!(out, "Content-Length: {}\r\n\r\n{body}", body.len());
    _ = out.flush();
}
