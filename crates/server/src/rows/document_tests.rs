//! Generates the document of the API (`docs/openapi.json`) from the rows of [`routes`] and their types.

use std::{env, fs, path::Path};

use ralph_core::event::Record;
use schemars::{
    JsonSchema, SchemaGenerator,
    generate::{Contract, SchemaSettings},
};
use serde_json::{Map, Value, json};

use crate::{
    access,
    problem::Body,
    routes,
    runs::{self, RUNS},
    start,
};

/// The kind of answer of a route.
pub(crate) enum ReplyKind {
    /// JSON of this schema, or text of these media types on request.
    Json(Value, &'static [&'static str]),
    /// Bytes of the first of these media types, or of another one on request.
    Bytes(&'static [&'static str]),
    Nothing,
}

pub(crate) struct OpenApiDocument {
    paths: Map<String, Value>,
    /// Types in answers; `requests` has those of requests. They differ in which fields may be missing.
    answers: SchemaGenerator,
    requests: SchemaGenerator,
}

/// The description of one route.
pub(crate) struct Operation<'d> {
    document: &'d mut OpenApiDocument,
    method: &'static str,
    path: &'static str,
    object: Value,
}

fn generator(contract: Contract) -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.contract = contract;
        settings.meta_schema = None;
    });
    settings.into_generator()
}

/// Describes the variants of an enum in the forms that code generators understand.
fn describe_variants(name: &str, schema: &mut Value, all: &Map<String, Value>) {
    // The groups of events have no names of their own for clients.
    let path = format!("#/components/schemas/{name}");
    let lists = |list: &Value| {
        list["anyOf"]
            .as_array()
            .is_some_and(|groups| groups.iter().any(|of| of["$ref"] == *path))
    };
    let name = all.iter().find(|(_, list)| lists(list)).map_or(name, |(list, _)| list);
    // Entries of a list of groups that are no references are variants.
    let groups = schema
        .get_mut("anyOf")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten();
    for variant in groups.filter(|group| group["properties"].is_object()) {
        let title = title(name, variant);
        let fields = variant.as_object_mut().expect("a schema");
        fields.extend(title.map(|title| ("title".to_owned(), title.into())));
    }
    let Some(variants) = schema.get_mut("oneOf").and_then(Value::as_array_mut) else {
        return;
    };
    if let Some((values, about)) = words(variants) {
        let description = schema["description"].as_str().unwrap_or_default();
        let about: String = about.iter().map(|line| format!("\n\n{line}")).collect();
        *schema = json!({ "type": "string", "enum": values, "description": format!("{description}{about}") });
        return;
    }
    for variant in variants {
        let title = title(name, variant);
        let fields = variant.as_object_mut().expect("a schema");
        // Generators ignore fields beside a reference, so the variant repeats the fields of that type.
        let reference = fields.get("$ref").and_then(Value::as_str);
        let name_of_type = reference.and_then(|path| path.rsplit('/').next());
        if let Some(of) = name_of_type.map(|name| all[name].clone()) {
            assert!(of["properties"].is_object(), "{name}: a variant with fields of its own");
            fields.remove("$ref");
            for (to, field) in of["properties"].as_object().into_iter().flatten() {
                fields["properties"][to] = field.clone();
            }
            let required = fields["required"].as_array_mut().expect("the tag");
            required.extend(of["required"].as_array().into_iter().flatten().cloned());
        }
        fields.extend(title.map(|title| ("title".to_owned(), title.into())));
    }
}

/// The title of a variant with a tag. Types are named after titles, and numbered without.
fn title(name: &str, variant: &Value) -> Option<String> {
    let properties = variant["properties"].as_object().into_iter().flat_map(Map::values);
    let tag = properties.filter_map(|property| property["const"].as_str()).next()?;
    let words = tag.split('-').map(|word| word[..1].to_uppercase() + &word[1..]);
    Some(format!("{name}{}", words.collect::<String>()))
}

/// The words that are the variants, and the descriptions of those that have one; `None` unless all variants are words.
fn words(variants: &[Value]) -> Option<(Vec<Value>, Vec<String>)> {
    let (mut values, mut about) = (Vec::new(), Vec::new());
    for variant in variants {
        match (variant.get("const"), variant.get("enum")) {
            (Some(word), _) if word.is_string() => {
                let line = variant["description"].as_str();
                about.extend(line.map(|line| format!("`{}`: {line}", word.as_str().unwrap_or_default())));
                values.push(word.clone());
            }
            (_, Some(Value::Array(words))) if variant["type"] == "string" => values.extend(words.iter().cloned()),
            _ => return None,
        }
    }
    Some((values, about))
}

/// The content of a media type that is not JSON.
fn contents(kind: &str) -> Value {
    match kind.starts_with("text/") {
        true => json!({ "schema": { "type": "string" } }),
        false => json!({ "schema": { "type": "string", "format": "binary" } }),
    }
}

fn operation_id(method: &str, path: &str) -> String {
    format!("{method}{}", path.replace('/', "-").replace(['{', '}'], ""))
}

impl OpenApiDocument {
    fn new() -> Self {
        Self {
            paths: Map::new(),
            answers: generator(Contract::Serialize),
            requests: generator(Contract::Deserialize),
        }
    }

    pub(crate) fn operation(&mut self, method: &'static str, path: &'static str, about: &[&str]) -> Operation<'_> {
        let about: Vec<&str> = about.iter().map(|line| line.trim()).collect();
        let about = about.join(" ");
        let summary = about.split_once(". ").map_or(about.as_str(), |(first, _)| first);
        let object = json!({
            "operationId": operation_id(method, path),
            "summary": summary.trim_end_matches('.'),
            "description": about,
        });
        Operation {
            document: self,
            method,
            path,
            object,
        }
    }

    /// Describes each route of a run once more below `/runs/{id}`, where it is for the run of that name.
    fn repeat_below_runs(&mut self) {
        let name = self.requests.subschema_for::<String>();
        let id = json!({ "name": "id", "in": "path", "required": true, "description": "The run.", "schema": name });
        let of_run: Vec<(String, Value)> = self.paths.iter().map(|(path, o)| (path.clone(), o.clone())).collect();
        for (path, mut operations) in of_run {
            // The document of a server is its own, and not a run's.
            if path == "/doc" {
                continue;
            }
            let path = format!("{}/{{id}}{path}", RUNS.trim_end_matches('/'));
            for (method, operation) in operations.as_object_mut().expect("operations") {
                operation["operationId"] = operation_id(method, &path).into();
                let operation = operation.as_object_mut().expect("an operation");
                let parameters = operation.entry("parameters").or_insert(json!([]));
                parameters.as_array_mut().expect("a list").insert(0, id.clone());
            }
            self.paths.insert(path, operations);
        }
    }

    fn written(mut self) -> String {
        let problem = self.answers.subschema_for::<Body<'static>>();
        // Events are the data of a stream, and no route answers one alone.
        self.answers.subschema_for::<Record>();
        let mut schemas = self.answers.take_definitions(true);
        for (name, schema) in self.requests.take_definitions(true) {
            let same = schemas.get(&name).is_none_or(|other| *other == schema);
            assert!(same, "{name} is taken and sent in two forms: rename one");
            schemas.insert(name, schema);
        }
        let all = schemas.clone();
        for (name, schema) in &mut schemas {
            describe_variants(name, schema, &all);
        }
        let described = json!({
            "openapi": "3.1.0",
            "info": {
                "title": "ralph",
                "version": "1",
                "description": "The HTTP API of a run, over its socket and, with a token, over TCP.",
                "license": { "name": "MIT OR Apache-2.0" },
            },
            "servers": [{ "url": "http://127.0.0.1:4180" }],
            "security": [{ "token": [] }, { "session": [] }],
            "paths": self.paths,
            "components": {
                "responses": {
                    "Problem": {
                        "description": "The reason why the request was refused (RFC 9457).",
                        "content": { "application/problem+json": { "schema": problem } },
                    },
                },
                "schemas": schemas,
                "securitySchemes": {
                    "token": { "type": "http", "scheme": "bearer", "description": "The token that `ralph token` prints." },
                    "session": {
                        "type": "apiKey", "in": "cookie", "name": "ralph-4180",
                        "description": "The cookie of `POST /login` for a browser; its name ends with the port. Commands also need `Origin`.",
                    },
                },
            },
        });
        serde_json::to_string_pretty(&described).unwrap() + "\n"
    }
}

impl Operation<'_> {
    fn add(&mut self, list: &str, entry: Value) {
        let list = self.object.as_object_mut().unwrap().entry(list).or_insert(json!([]));
        list.as_array_mut().unwrap().push(entry);
    }

    /// Describes the parameter in braces.
    pub(crate) fn parameter<T: JsonSchema>(&mut self) {
        let name = self.path.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
        let (name, _) = name.expect("a path with a parameter");
        let schema = self.document.requests.subschema_for::<T>();
        self.add(
            "parameters",
            json!({ "name": name, "in": "path", "required": true, "schema": schema }),
        );
    }

    pub(crate) fn query<T: JsonSchema>(&mut self) {
        let schema = self.document.requests.root_schema_for::<T>();
        let fields = schema
            .get("properties")
            .and_then(Value::as_object)
            .expect("a structure");
        for (name, field) in fields.clone() {
            let mut field = field;
            let about = field.as_object_mut().and_then(|field| field.remove("description"));
            let about = about.unwrap_or_else(|| panic!("{name} of {} has a doc comment", self.path));
            self.add(
                "parameters",
                json!({ "name": name, "in": "query", "required": false, "description": about, "schema": field }),
            );
        }
    }

    pub(crate) fn body<T: JsonSchema>(&mut self) {
        let schema = self.document.requests.subschema_for::<T>();
        self.object["requestBody"] =
            json!({ "required": true, "content": { "application/json": { "schema": schema } } });
    }

    pub(crate) fn raw(&mut self, kind: &str) {
        self.object["requestBody"] = json!({ "required": true, "content": { kind: contents(kind) } });
    }

    pub(crate) fn schema_of<T: JsonSchema>(&mut self) -> Value {
        self.document.answers.subschema_for::<T>().into()
    }

    pub(crate) fn answers(&mut self, reply: ReplyKind) {
        let (code, good) = match reply {
            ReplyKind::Json(schema, texts) => {
                let mut content = Map::from_iter([("application/json".to_owned(), json!({ "schema": schema }))]);
                content.extend(texts.iter().map(|kind| ((*kind).to_owned(), contents(kind))));
                ("200", json!({ "description": "The result.", "content": content }))
            }
            ReplyKind::Bytes(kinds) => {
                let content: Map<String, Value> =
                    kinds.iter().map(|kind| ((*kind).to_owned(), contents(kind))).collect();
                (
                    "200",
                    json!({ "description": "The requested bytes.", "content": content }),
                )
            }
            ReplyKind::Nothing => ("204", json!({ "description": "Done." })),
        };
        self.object["responses"] = json!({ code: good, "default": { "$ref": "#/components/responses/Problem" } });
        let path = self.document.paths.entry(self.path).or_insert(json!({}));
        let twice = path
            .as_object_mut()
            .unwrap()
            .insert(self.method.to_owned(), self.object.take());
        assert!(twice.is_none(), "{} {} is there twice", self.method, self.path);
    }
}

/// Writes the file if `RALPH_TEST_WRITE` is set.
#[cfg_attr(not(feature = "batches"), ignore = "the document has the routes of batches")]
#[test]
fn the_document_of_the_api_is_the_committed_one() {
    let mut document = OpenApiDocument::new();
    routes::describe(&mut document);
    document.repeat_below_runs();
    runs::describe(&mut document);
    #[cfg(feature = "batches")]
    crate::batches::describe(&mut document);
    start::describe(&mut document);
    access::describe(&mut document);
    let text = document.written();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    if env::var_os("RALPH_TEST_WRITE").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == text,
        "docs/openapi.json is not what the routes are: RALPH_TEST_WRITE=1 cargo test -p ralph-loop-server --lib rows::document writes it"
    );
}
