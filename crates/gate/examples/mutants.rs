//! Prints mutants of a file as JSON, one per line: `mutants work|test FILE SEED MOST`.

use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, target, path, seed, most] = arguments.as_slice() else {
        return Err("usage: mutants work|test FILE SEED MOST".into());
    };
    let text = std::fs::read_to_string(path)?;
    let found = match target.as_str() {
        "work" => ralph_gate::mutants::work_mutants(path, &text, &[1..=u32::MAX], seed.parse()?),
        _ => ralph_gate::mutants::test_mutants(path, &text, seed.parse()?),
    };
    let mut out = std::io::stdout().lock();
    for mutation in found.into_iter().take(most.parse()?) {
        let line = serde_json::json!({
            "mutant": mutation.mutant,
            "kind": format!("{:?}", mutation.kind),
            "text": mutation.text,
        });
        writeln!(out, "{line}")?;
    }
    Ok(())
}
