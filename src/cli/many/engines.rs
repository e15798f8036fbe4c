//! `ralph engines`: the engines that can run the plans of a batch, and whether they are installed.

use ralph_many::{EngineCatalog, EngineError};
use ralph_plan::batch::LOCAL;
use ralph_text::console::{print, print_coloured, warn};

use crate::{
    app,
    error::Failure,
    ui::{Presentation, headless::OutputFormat},
};

use crate::cli::{
    args::Args,
    table::{TableCell, table},
    trust,
};

pub(super) fn run(args: &Args, id: Option<&str>) -> Result<u8, Failure> {
    let place = trust::place_to_look(args)?;
    let catalog = app::many::engines(&place);
    match id {
        None => {
            list(&catalog);
            catalog.notices().iter().for_each(|notice| warn(notice));
        }
        Some(LOCAL) => return Err(EngineError::Local.into()),
        Some(id) => print(&catalog.show(id).map_err(EngineError::from)?),
    }
    Ok(0)
}

fn list(catalog: &EngineCatalog) {
    let style = Presentation::for_stdout(OutputFormat::Text).style;
    let local = [
        TableCell::coloured(LOCAL, "1"),
        TableCell::new("processes of this machine"),
        TableCell::new(""),
        TableCell::coloured("built in", "2"),
        TableCell::coloured("always there", "32"),
    ];
    let described = catalog.list().map(|(id, origin, manifest)| {
        let manifest = manifest.as_ref();
        let program = manifest.map(|manifest| which::which(manifest.program().unwrap_or_default()));
        let state = match program {
            Err(why) => TableCell::coloured(format!("broken: {why}"), "31"),
            Ok(Ok(path)) => TableCell::coloured(path.display().to_string(), "32"),
            Ok(Err(_)) => TableCell::coloured("not installed", "2"),
        };
        let tested = manifest.ok().and_then(|manifest| manifest.verified.as_deref());
        [
            TableCell::coloured(id, "1"),
            TableCell::new(manifest.map_or(id, |manifest| &manifest.title)),
            TableCell::new(tested.unwrap_or("not tested")),
            TableCell::coloured(origin.to_string(), "2"),
            state,
        ]
    });
    let rows: Vec<_> = [local].into_iter().chain(described).collect();
    print_coloured(&table(
        ["engine", "what it is", "tested with", "from", "program"],
        &rows,
        style,
    ));
}
