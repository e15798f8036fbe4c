//! Parses the responses of servers in all shapes that the protocol allows. Other content is ignored.

use serde_json::Value;

use super::{
    facts::{Diagnostic, DiagnosticSeverity, Indexing, OutlineItem, Results, SourceLocation},
    places::{LineReader, cut},
    position::Encoding,
    state::PublishedDiagnostics,
    uri,
};

/// Most items that are reported from an answer.
const RESULTS: usize = 100;
const DEPTH: u8 = 6;

/// The names of symbol kinds, by their numbers from 1.
const KINDS: [&str; 26] = [
    "file",
    "module",
    "namespace",
    "package",
    "class",
    "method",
    "property",
    "field",
    "constructor",
    "enum",
    "interface",
    "function",
    "variable",
    "constant",
    "string",
    "number",
    "boolean",
    "array",
    "object",
    "key",
    "null",
    "variant",
    "struct",
    "event",
    "operator",
    "type parameter",
];

pub(super) fn bounded<T>(mut items: Vec<T>, indexing: Option<Indexing>) -> Results<T> {
    let more = items.len().saturating_sub(RESULTS);
    items.truncate(RESULTS);
    Results { items, more, indexing }
}

/// Parses `Location`, `Location[]` or `LocationLink[]`. Also returns the number of omitted places.
pub(super) fn places(answer: &Value, lines: &mut LineReader, encoding: Encoding) -> (Vec<SourceLocation>, usize) {
    let single = std::slice::from_ref(answer);
    let all = answer.as_array().map_or(single, Vec::as_slice);
    let place = |location: &Value| {
        let (address, range) = match location["targetUri"].as_str() {
            Some(address) => (address, &location["targetSelectionRange"]),
            None => (location["uri"].as_str()?, &location["range"]),
        };
        lines.place(address, &range["start"], encoding)
    };
    let mut places: Vec<SourceLocation> = all.iter().take(RESULTS).filter_map(place).collect();
    places.dedup();
    (places, all.len().saturating_sub(RESULTS))
}

/// Parses `MarkupContent`, `MarkedString` or `MarkedString[]`.
pub(super) fn hover(answer: &Value) -> String {
    let words = |part: &Value| match part {
        Value::String(text) => text.clone(),
        part => part["value"].as_str().unwrap_or_default().to_owned(),
    };
    match &answer["contents"] {
        Value::Array(parts) => parts.iter().map(words).collect::<Vec<_>>().join("\n\n"),
        contents => words(contents),
    }
}

/// Parses `DocumentSymbol[]` of `file`, or `SymbolInformation[]`. Also returns the number of omitted symbols.
pub(super) fn symbols(
    answer: &Value,
    file: Option<&str>,
    lines: &mut LineReader,
    encoding: Encoding,
) -> (Vec<OutlineItem>, usize) {
    let (mut found, mut more) = (Vec::new(), 0);
    for symbol in answer.as_array().into_iter().flatten() {
        add_symbol(symbol, file, 0, (&mut found, &mut more), lines, encoding);
    }
    (found, more)
}

fn add_symbol(
    symbol: &Value,
    file: Option<&str>,
    depth: u8,
    (found, more): (&mut Vec<OutlineItem>, &mut usize),
    lines: &mut LineReader,
    encoding: Encoding,
) {
    if found.len() >= RESULTS {
        *more += 1;
        return;
    }
    let location = &symbol["location"];
    let (address, start) = match (location["uri"].as_str(), file) {
        (Some(address), _) => (address, &location["range"]["start"]),
        (None, Some(file)) => (file, &symbol["selectionRange"]["start"]),
        (None, None) => return,
    };
    let (Some(name), Some(place)) = (symbol["name"].as_str(), lines.place(address, start, encoding)) else {
        return;
    };
    let kind = symbol["kind"].as_u64().and_then(|kind| usize::try_from(kind).ok());
    let kind = kind.and_then(|kind| KINDS.get(kind.wrapping_sub(1)));
    let detail = [&symbol["detail"], &symbol["containerName"]];
    let detail = detail.iter().find_map(|detail| detail.as_str()).unwrap_or_default();
    found.push(OutlineItem {
        kind: kind.copied().unwrap_or("symbol"),
        name: cut(name),
        detail: cut(detail.lines().next().unwrap_or_default()),
        depth,
        place,
    });
    // Deeper symbols, such as local variables, are not part of an outline.
    if depth < DEPTH {
        for child in symbol["children"].as_array().into_iter().flatten() {
            add_symbol(child, file, depth + 1, (&mut *found, &mut *more), lines, encoding);
        }
    }
}

/// Published diagnostics, the most severe first. Also returns the number of omitted ones.
pub(super) fn messages(
    published: &[(std::path::PathBuf, PublishedDiagnostics)],
    lines: &mut LineReader,
    encoding: Encoding,
) -> (Vec<Diagnostic>, usize) {
    let severity = |item: &Value| match item["severity"].as_u64() {
        Some(2) => DiagnosticSeverity::Warning,
        Some(3) => DiagnosticSeverity::Information,
        Some(4) => DiagnosticSeverity::Hint,
        Some(_) | None => DiagnosticSeverity::Error,
    };
    let items = published
        .iter()
        .flat_map(|(path, published)| published.items.iter().map(move |item| (path, item)));
    let mut items: Vec<_> = items
        .filter(|(_, item)| severity(item) < DiagnosticSeverity::Hint)
        .collect();
    items.sort_by_key(|(path, item)| (severity(item), path.as_path(), item["range"]["start"]["line"].as_u64()));
    let all = items.len();
    let messages = items.into_iter().take(RESULTS).filter_map(|(path, item)| {
        let code = match &item["code"] {
            Value::String(code) => format!(" {code}"),
            Value::Number(code) => format!(" {code}"),
            _ => String::new(),
        };
        Some(Diagnostic {
            severity: severity(item),
            source: cut(&format!("{}{code}", item["source"].as_str().unwrap_or_default())),
            text: item["message"].as_str()?.chars().take(1000).collect(),
            place: lines.place(&uri::from_path(path), &item["range"]["start"], encoding)?,
        })
    });
    (messages.collect(), all.saturating_sub(RESULTS))
}
