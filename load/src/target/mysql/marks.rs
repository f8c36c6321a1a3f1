//! Parameters of a statement's text: MySQL marks each `?`, in the order of the text.

use crate::target::Value;

/// Values of a statement whose text has them in another order, or elements of them.
const MOST_VALUES: usize = 16;

/// What is sent for a `?`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    /// Which value, counted from 0.
    value: usize,
    /// Which element of it, counted from 0, where it is an array.
    element: Option<usize>,
}

/// A statement's text with MySQL's marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marked {
    pub(super) sql: String,
    /// How many marks it has.
    pub(super) count: usize,
    /// What is sent for each mark; empty where it is each value, in order.
    pub(super) marks: Vec<Mark>,
}

/// A statement's text with MySQL's marks for parameters: `?` for `$1` and so on, and for `$1.2`, the second element of an
/// array.
///
/// # Panics
/// Where a `$` is no parameter: the workload's text is wrong.
#[must_use]
pub fn with_question_marks(sql: &str) -> String {
    Marked::read(sql).sql
}

impl Marked {
    pub(super) fn read(sql: &str) -> Self {
        let mut parts = sql.split('$');
        let mut text = parts.next().unwrap_or_default().to_owned();
        let mut marks = Vec::new();
        for part in parts {
            let (value, rest) = number(part).unwrap_or_else(|| panic!("a parameter without a number: {sql}"));
            let element = rest.strip_prefix('.').and_then(number);
            text.push('?');
            text.push_str(element.map_or(rest, |(_, rest)| rest));
            marks.push(Mark { value, element: element.map(|(element, _)| element) });
        }
        let count = marks.len();
        let in_order = |(index, mark): (usize, &Mark)| *mark == Mark { value: index, element: None };
        if marks.iter().enumerate().all(in_order) {
            marks.clear();
        }
        Self { sql: text, count, marks }
    }
}

/// A number counted from 1, as one counted from 0, and what follows it.
fn number(text: &str) -> Option<(usize, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((text[..digits].parse::<usize>().ok()?.checked_sub(1)?, &text[digits..]))
}

/// The values for these marks.
///
/// # Panics
/// Where there are more than [`MOST_VALUES`]: the workload is wrong.
pub(super) fn marked<'a>(marks: &[Mark], values: impl Iterator<Item = Value<'a>>) -> impl Iterator<Item = Value<'a>> {
    let mut all = [Value::Null; MOST_VALUES];
    for (index, value) in values.enumerate() {
        all[index] = value;
    }
    marks.iter().map(move |mark| mark.element.map_or(all[mark.value], |index| element(all[mark.value], index)))
}

/// An element of an array. Past its end it is the last one: a text for many rows serves fewer of them, where one that is
/// named twice counts once.
fn element(value: Value<'_>, index: usize) -> Value<'_> {
    fn at<T: Copy>(array: &[T], index: usize) -> Option<T> {
        array.get(index).or(array.last()).copied()
    }
    let element = match value {
        Value::I32Array(array) => at(array, index).map(Value::I32),
        Value::TextArray(array) => at(array, index).map(Value::Text),
        Value::NumericArray { unscaled, scale } => {
            at(unscaled, index).map(|unscaled| Value::Numeric { unscaled, scale })
        }
        _ => None,
    };
    element.unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_marked_and_their_values_follow() {
        let values = [Value::I32(7), Value::I32Array(&[1, 2]), Value::TextArray(&["a"]), Value::Text("x")];
        for (sql, text, sent) in [
            ("a = $1 AND b = $2", "a = ? AND b = ?", vec![]),
            ("SELECT 1", "SELECT 1", vec![]),
            ("a = $4 AND b = $1", "a = ? AND b = ?", vec![Value::Text("x"), Value::I32(7)]),
            ("$1, $1", "?, ?", vec![Value::I32(7); 2]),
            ("($2.1, $2.2, $2.3)", "(?, ?, ?)", vec![Value::I32(1), Value::I32(2), Value::I32(2)]),
            ("$3.2 $1.1.", "? ?.", vec![Value::Text("a"), Value::Null]),
        ] {
            let marked_text = Marked::read(sql);
            assert_eq!((marked_text.sql.as_str(), with_question_marks(sql).as_str()), (text, text));
            assert_eq!(marked(&marked_text.marks, values.into_iter()).collect::<Vec<_>>(), sent);
        }
        for wrong in ["$", "$0", "$x"] {
            assert!(std::panic::catch_unwind(|| with_question_marks(wrong)).is_err(), "{wrong}");
        }
    }
}
