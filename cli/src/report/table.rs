//! Tables that fit where they are printed.

use comfy_table::presets::{ASCII_MARKDOWN, UTF8_HORIZONTAL_ONLY};
use comfy_table::{
    Attribute, Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, LineStyle, Row,
    Table, Width,
};

use super::prose;

/// What a report is drawn on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// A terminal of this width: lines, colour, and no line longer than the terminal.
    Terminal {
        /// Width in characters.
        columns: u16,
    },
    /// A file or a pipe: a Markdown table without colour, as wide as it must be.
    Plain,
}

/// A column of a table.
#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) form: Form,
    /// The columns with the lowest rank above 0 are left out first where there is no room for all.
    pub(super) spare: u8,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Flush right, never broken.
    Number,
    /// Flush left, never broken.
    Name,
    /// Flush left, broken where there is no room.
    Prose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    /// Something that a person should notice.
    Warning,
}

/// Room that prose needs at least, in characters.
const LEAST_PROSE: u16 = 16;

/// The lines of a table without a line feed at the end.
pub(super) fn draw(columns: &[Column], rows: Vec<(Tone, Vec<String>)>, on: Surface) -> String {
    let mut table = Table::new();
    table.force_no_tty();
    table.set_header(columns.iter().map(|column| heading(column, on)));
    for (tone, texts) in rows {
        let cells = texts.iter().map(|text| {
            let cell = Cell::new(clean(text, on));
            match (tone, on) {
                (Tone::Warning, Surface::Terminal { .. }) => cell.fg(Color::Yellow),
                (Tone::Plain, Surface::Terminal { .. }) | (_, Surface::Plain) => cell,
            }
        });
        table.add_row(Row::from(cells));
    }
    for (column, form) in table
        .column_iter_mut()
        .zip(columns.iter().map(|column| column.form))
    {
        column.set_cell_alignment(match form {
            Form::Number => CellAlignment::Right,
            Form::Name | Form::Prose => CellAlignment::Left,
        });
    }
    match on {
        Surface::Plain => {
            table.load_style(ASCII_MARKDOWN);
        }
        Surface::Terminal { columns: width } => {
            table
                .load_style(UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()))
                .enforce_styling();
            table
                .set_content_arrangement(ContentArrangement::Dynamic)
                .set_width(width);
            fit(&mut table, columns, width);
        }
    }
    table.trim_fmt()
}

fn heading(column: &Column, on: Surface) -> Cell {
    let cell = Cell::new(column.title);
    match on {
        Surface::Terminal { .. } => cell.add_attribute(Attribute::Bold),
        Surface::Plain => cell,
    }
}

/// Text from an engine can hold anything; a cell is one line, and a bar ends it in Markdown.
fn clean(text: &str, on: Surface) -> String {
    let text = prose::harmless(text);
    match on {
        Surface::Plain => text.replace('|', "\\|"),
        Surface::Terminal { .. } => text,
    }
}

/// Leaves columns out until the rest fits, and lets prose take what is left.
fn fit(table: &mut Table, columns: &[Column], width: u16) {
    // A space on each side and one between columns.
    const PADDING: u16 = 3;
    let content = table.column_max_content_widths();
    let needs: Vec<(u8, u16)> = columns
        .iter()
        .zip(content)
        .map(|(column, content)| {
            let title = u16::try_from(column.title.len()).unwrap_or(u16::MAX);
            let need = match column.form {
                Form::Number | Form::Name => content.max(title),
                Form::Prose => content.max(title).min(LEAST_PROSE),
            };
            (column.spare, need.saturating_add(PADDING))
        })
        .collect();
    let total = |least: u8| -> u16 {
        needs
            .iter()
            .filter(|(spare, _)| shown(*spare, least))
            .map(|(_, need)| *need)
            .sum()
    };
    let least = (0..=u8::MAX)
        .find(|least| total(*least) <= width)
        .unwrap_or(u8::MAX);
    for (column, form) in table.column_iter_mut().zip(columns) {
        column.set_constraint(match form.form {
            _ if !shown(form.spare, least) => ColumnConstraint::Hidden,
            Form::Number | Form::Name => ColumnConstraint::ContentWidth,
            Form::Prose => ColumnConstraint::LowerBoundary(Width::Fixed(1)),
        });
    }
}

fn shown(spare: u8, least: u8) -> bool {
    spare == 0 || spare > least
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 4] = [
        Column {
            title: "n",
            form: Form::Number,
            spare: 0,
        },
        Column {
            title: "first to go",
            form: Form::Name,
            spare: 1,
        },
        Column {
            title: "second",
            form: Form::Name,
            spare: 2,
        },
        Column {
            title: "why",
            form: Form::Prose,
            spare: 0,
        },
    ];

    fn row(why: &str) -> (Tone, Vec<String>) {
        (
            Tone::Plain,
            vec!["7".into(), "a".into(), "b".into(), why.into()],
        )
    }

    /// The text without what makes it bold or coloured.
    fn bare(text: &str) -> String {
        let mut parts = text.split('\u{1b}');
        let head = parts.next().unwrap_or_default().to_owned();
        parts.fold(head, |text, part| {
            text + part.split_once('m').map_or("", |(_, rest)| rest)
        })
    }

    #[test]
    fn plain_output_is_markdown_without_escapes() {
        let text = draw(&COLUMNS, vec![row("a|b\n\u{1b}[31mc")], Surface::Plain);
        assert_eq!(
            text,
            "| n | first to go | second | why         |\n\
             |---|-------------|--------|-------------|\n\
             | 7 | a           | b      | a\\|b  [31mc |"
        );
    }

    #[test]
    fn no_line_is_longer_than_the_terminal() {
        for columns in [24, 30, 40, 60, 200] {
            let text = draw(
                &COLUMNS,
                vec![row(&"word ".repeat(40))],
                Surface::Terminal { columns },
            );
            let text = bare(&text);
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= usize::from(columns), "{columns}:\n{text}");
        }
    }

    #[test]
    fn prose_has_room_for_a_word() {
        let text = bare(&draw(
            &COLUMNS,
            vec![row(&"word ".repeat(9))],
            Surface::Terminal { columns: 45 },
        ));
        assert!(text.contains("word word word"), "{text}");
    }

    #[test]
    fn spare_columns_are_left_out_in_order() {
        let titles = |columns| {
            let text = bare(&draw(
                &COLUMNS,
                vec![row("x")],
                Surface::Terminal { columns },
            ));
            text.lines()
                .nth(1)
                .unwrap()
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(titles(80), "n first to go second why");
        assert_eq!(titles(30), "n second why");
        assert_eq!(titles(10), "n why");
    }

    #[test]
    fn a_warning_is_coloured_on_a_terminal_only() {
        let rows = || {
            vec![(
                Tone::Warning,
                vec!["7".into(), "a".into(), "b".into(), "x".into()],
            )]
        };
        assert!(
            draw(&COLUMNS, rows(), Surface::Terminal { columns: 80 }).contains("\u{1b}[38;5;11m")
        );
        assert!(!draw(&COLUMNS, rows(), Surface::Plain).contains('\u{1b}'));
    }
}
