//! Finds commented lines in a later version of their file, by their text and that of their neighbours.
//!
//! Pure. A line such as `}` is in a file many times, so a place counts by how many of the kept neighbours are still
//! around it. If the neighbours stand together elsewhere without the lines between them, the lines were changed there,
//! and an equal line in another place is not the commented one.

use ralph_core::event::{COMMENTED_LINES, CONTEXT_LINES, CommentPlace, LinesState, SourceLine};

/// Maximum number of new lines that may have replaced commented ones.
const REPLACED_BY: usize = 40;
/// Characters without spaces from which a line is taken for unique although no neighbour is left.
const TELLING: usize = 8;

/// Cuts a file into lines as they are compared.
pub fn source_lines(text: &str) -> Vec<SourceLine> {
    text.lines().map(SourceLine::from).collect()
}

/// Returns the place of `count` lines of `file` from the line numbered `line` on. `None` if the file has no such lines,
/// or if a comment cannot be about as many.
pub fn place(file: &str, lines: &[SourceLine], line: u32, count: usize) -> Option<CommentPlace> {
    let first = usize::try_from(line).ok()?.checked_sub(1)?;
    let end = first.checked_add(count)?;
    if count == 0 || count > COMMENTED_LINES || end > lines.len() {
        return None;
    }
    let after = end..lines.len().min(end + CONTEXT_LINES);
    Some(CommentPlace {
        file: file.into(),
        line,
        iteration: None,
        checkpoint: None,
        quote: lines[first..end].to_vec().into(),
        before: lines[first.saturating_sub(CONTEXT_LINES)..first].to_vec().into(),
        after: lines[after].to_vec().into(),
    })
}

/// Finds the lines of `place` in `lines`, a later version of its file: the line number, from 1, and what became of them.
/// `near` is the line number where they were found last; it decides between places that are equally likely.
pub fn locate(place: &CommentPlace, lines: &[SourceLine], near: u32) -> (u32, LinesState) {
    let near = usize::try_from(near).unwrap_or(usize::MAX).saturating_sub(1);
    let count = place.quote.len();
    let gone = (u32::try_from(near + 1).unwrap_or(u32::MAX), LinesState::Gone);
    if count == 0 || count > lines.len() {
        return gone;
    }
    let context = |start: usize, end: usize| (matching_before(place, lines, start), matching_after(place, lines, end));
    let found = (0..=lines.len() - count).filter(|start| lines[*start..start + count] == *place.quote);
    let found = found.map(|start| {
        let (before, after) = context(start, start + count);
        (before + after, start)
    });
    let best = found.max_by_key(|(score, start)| (*score, usize::MAX - start.abs_diff(near)));
    let Some((score, start)) = best else { return gone };
    let is_telling = place.quote.iter().any(|line| letters(line) >= TELLING);
    let kept = place.before.len() + place.after.len();
    if score == 0 && kept > 0 && !is_telling || changed_in_place(place, lines) > score {
        return gone;
    }
    let line = u32::try_from(start + 1).unwrap_or(u32::MAX);
    let has_neighbours = neighbour(place.before.last(), start.checked_sub(1).and_then(|at| lines.get(at)))
        && neighbour(place.after.first(), lines.get(start + count));
    match has_neighbours {
        true => (line, LinesState::Same),
        false => (line, LinesState::NeighbourChanged),
    }
}

/// Whether a neighbour is still the kept one. Where the file began or ended, it still has to.
fn neighbour(kept: Option<&SourceLine>, now: Option<&SourceLine>) -> bool {
    kept == now
}

fn letters(line: &str) -> usize {
    line.chars().filter(|character| !character.is_whitespace()).count()
}

/// Number of kept lines that directly precede `start`.
fn matching_before(place: &CommentPlace, lines: &[SourceLine], start: usize) -> usize {
    let kept = place.before.iter().rev();
    kept.zip(lines[..start].iter().rev())
        .take_while(|(kept, now)| kept == now)
        .count()
}

/// Number of kept lines that directly follow, from `end` on.
fn matching_after(place: &CommentPlace, lines: &[SourceLine], end: usize) -> usize {
    let kept = place.after.iter();
    kept.zip(&lines[end..]).take_while(|(kept, now)| kept == now).count()
}

/// The most kept neighbours that stand around other lines than the commented ones. Both sides have to be there, and one of
/// them has to be longer than a blank line or a bracket.
fn changed_in_place(place: &CommentPlace, lines: &[SourceLine]) -> usize {
    let mut most = 0;
    for start in 0..=lines.len() {
        let before = matching_before(place, lines, start);
        if before == 0 {
            continue;
        }
        for end in start..=lines.len().min(start + REPLACED_BY) {
            let after = matching_after(place, lines, end);
            let between = &lines[start..end];
            let has_quote = between.windows(place.quote.len()).any(|lines| *lines == *place.quote);
            let mut kept = lines[start - before..start].iter().chain(&lines[end..end + after]);
            if after > 0 && !has_quote && kept.any(|line| letters(line) >= TELLING) {
                most = most.max(before + after);
            }
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::testing::Dice;

    fn lines(text: &str) -> Vec<SourceLine> {
        source_lines(text)
    }

    fn at(text: &str, line: u32) -> CommentPlace {
        place("a.rs", &lines(text), line, 1).expect("the file has the line")
    }

    const SOURCE: &str = "fn one() {\n    let a = 1;\n    a + 1\n}\n\nfn two() {\n    let beta = 2;\n    beta + 2\n}\n";

    #[test]
    fn lines_move_with_edits_above_and_below_them() {
        let comment = at(SOURCE, 7);
        assert_eq!(locate(&comment, &lines(SOURCE), 7), (7, LinesState::Same));
        let moved = format!("use std::fmt;\n\n{SOURCE}\nfn three() {{}}\n");
        assert_eq!(locate(&comment, &lines(&moved), 7), (9, LinesState::Same));
        let cut = SOURCE.replacen("    let a = 1;\n", "", 1);
        assert_eq!(locate(&comment, &lines(&cut), 7), (6, LinesState::Same));
    }

    #[test]
    fn changed_and_removed_lines_are_gone_although_an_equal_one_is_elsewhere() {
        // The last bracket becomes another line; the bracket of `one` is not the commented one.
        let comment = at(SOURCE, 9);
        let changed = SOURCE.replacen("    beta + 2\n}\n", "    beta + 2\n};\n", 1);
        assert_eq!(locate(&comment, &lines(&changed), 9).1, LinesState::Gone);
        let comment = at(SOURCE, 4);
        let changed = SOURCE.replacen("    a + 1\n}\n", "    a + 1\n} // end\n", 1);
        assert_eq!(locate(&comment, &lines(&changed), 4).1, LinesState::Gone);
        let comment = at(SOURCE, 7);
        for (from, to) in [("let beta = 2", "let beta = 3"), ("    let beta = 2;\n", "")] {
            let changed = SOURCE.replacen(from, to, 1);
            assert_eq!(locate(&comment, &lines(&changed), 7).1, LinesState::Gone, "{to}");
        }
        assert_eq!(locate(&comment, &[], 7), (7, LinesState::Gone));
    }

    #[test]
    fn a_line_put_directly_beside_them_is_a_change_at_their_place() {
        let comment = at(SOURCE, 7);
        let guarded = SOURCE.replacen("    let beta", "    check();\n    let beta", 1);
        assert_eq!(locate(&comment, &lines(&guarded), 7), (8, LinesState::NeighbourChanged));
        let comment = at("only\n", 1);
        assert_eq!(locate(&comment, &lines("only\n"), 1), (1, LinesState::Same));
        assert_eq!(
            locate(&comment, &lines("only\nmore\n"), 1),
            (1, LinesState::NeighbourChanged)
        );
    }

    #[test]
    fn moved_lines_are_found_by_their_text_alone_if_it_tells_enough() {
        let comment = at(SOURCE, 7);
        let moved = "fn other() {\n    let beta = 2;\n    use_it(b);\n}\n";
        assert_eq!(locate(&comment, &lines(moved), 7), (2, LinesState::NeighbourChanged));
        let bracket = at(SOURCE, 9);
        assert_eq!(locate(&bracket, &lines("x\n}\ny\n"), 9).1, LinesState::Gone);
    }

    #[test]
    fn a_place_is_within_the_file_and_has_few_lines() {
        let file = lines(SOURCE);
        for (line, count) in [(0, 1), (10, 1), (9, 2), (1, 0), (1, COMMENTED_LINES + 1), (u32::MAX, 1)] {
            assert_eq!(place("a.rs", &file, line, count), None, "{line} {count}");
        }
        let found = place("a.rs", &file, 2, 3).expect("they are there");
        assert_eq!((found.quote.len(), found.before.len(), found.after.len()), (3, 1, 3));
    }

    /// A file whose lines are all different, edited outside of the lines and their neighbours.
    #[test]
    fn whatever_is_edited_elsewhere_the_lines_are_found_where_they_are() {
        let mut dice = Dice::new(0x9e37_79b9_7f4a_7c15);
        for round in 0..400 {
            let count = 1 + dice.index(4);
            let mut file: Vec<SourceLine> = (0..20 + dice.index(20))
                .map(|n| SourceLine::from(format!("line {n} of {round}")))
                .collect();
            let first = dice.index(file.len() - count + 1);
            let comment = place("f", &file, u32::try_from(first + 1).unwrap(), count).unwrap();
            let mut first = first;
            for edit in 0..dice.index(12) {
                let new = SourceLine::from(format!("new {edit} of {round}"));
                let at = dice.index(file.len() + 1);
                // Edits above, and below, that leave a neighbour on each side.
                if at < first {
                    match dice.index(3) {
                        0 => file.insert(at, new),
                        1 if at + 1 < first => _ = file.remove(at),
                        _ if at + 1 < first => file[at] = new,
                        _ => continue,
                    }
                    first = file
                        .iter()
                        .position(|line| *line == comment.quote[0])
                        .expect("it stays");
                } else if at > first + count && at < file.len() {
                    match dice.index(3) {
                        0 => file.insert(at, new),
                        1 => _ = file.remove(at),
                        _ => file[at] = new,
                    }
                }
            }
            let found = locate(&comment, &file, comment.line);
            assert_eq!(found, (u32::try_from(first + 1).unwrap(), LinesState::Same), "{round}");
            file[first + dice.index(count)] = SourceLine::from("another line");
            let found = locate(&comment, &file, comment.line);
            assert_eq!(found.1, LinesState::Gone, "{round}");
        }
    }

    /// A line that is found has the text of the commented one, in any two files.
    #[test]
    fn lines_that_are_found_have_the_text_of_those_commented_on() {
        let pool = ["}", "", "    return None;", "    let value = read(input)?;", "{"];
        let mut dice = Dice::new(0x2545_f491_4f6c_dd1d);
        for _ in 0..2_000 {
            let file = |dice: &mut Dice| -> Vec<SourceLine> {
                let length = 1 + dice.index(12);
                (0..length).map(|_| pool[dice.index(pool.len())].into()).collect()
            };
            let (before, after) = (file(&mut dice), file(&mut dice));
            let first = dice.index(before.len());
            let comment = place("f", &before, u32::try_from(first + 1).unwrap(), 1).unwrap();
            assert_eq!(
                locate(&comment, &before, comment.line),
                (comment.line, LinesState::Same)
            );
            let (line, state) = locate(&comment, &after, comment.line);
            if state != LinesState::Gone {
                assert_eq!(after[usize::try_from(line).unwrap() - 1], comment.quote[0]);
            }
        }
    }
}
