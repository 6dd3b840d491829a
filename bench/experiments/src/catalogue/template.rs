//! Entries that stand for many: one for each combination of rows.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

/// Names with what stands for them.
pub(super) type Row = BTreeMap<String, String>;
pub(super) type Rows = BTreeMap<String, Vec<Row>>;

/// A row for each combination of the lists that `each` names, over `common`: `tree`, or `tree[tree=leveldb,rocksdb]` for some rows of it.
pub(super) fn combinations(each: &[String], rows: &Rows, common: &Row) -> Result<Vec<Row>> {
    let mut all = vec![common.clone()];
    for list in each {
        let (name, filter) = match list.strip_suffix(']').and_then(|list| list.split_once('[')) {
            Some((name, filter)) => {
                (name, Some(filter.split_once('=').context("expected LIST[COLUMN=VALUE]")?))
            }
            None => (list.as_str(), None),
        };
        let rows = rows.get(name).with_context(|| format!("there are no rows {name}"))?;
        let is_wanted = |row: &&Row| {
            filter.is_none_or(|(column, values)| {
                row.get(column).is_some_and(|value| values.split(',').any(|wanted| wanted == value))
            })
        };
        let wanted: Vec<_> = rows.iter().filter(is_wanted).collect();
        let with = |row: &Row, more: &Row| row.clone().into_iter().chain(more.clone()).collect();
        all = all.iter().flat_map(|row| wanted.iter().map(move |more| with(row, more))).collect();
    }
    if all.is_empty() {
        bail!("{each:?} has no rows");
    }
    Ok(all)
}

/// `text` with what stands for each `{name}`, the inner ones first.
pub(super) fn filled(text: &str, row: &Row) -> Result<String> {
    let mut text = text.to_owned();
    while let Some(end) = text.find('}') {
        let start = text[..end].rfind('{').with_context(|| format!("expected {{ before }} in {text:?}"))?;
        let name = &text[start + 1..end];
        let value = row.get(name).with_context(|| format!("nothing stands for {{{name}}} in {text:?}"))?;
        if value.contains(&text[start..=end]) {
            bail!("{{{name}}} stands for itself");
        }
        text = [&text[..start], value, &text[end + 1..]].concat();
    }
    Ok(text)
}

/// Flags with values, of which those in `own` win.
pub(super) fn flags(common: &str, own: &str) -> String {
    let [words, own_words] = [common, own].map(|flags| flags.split_whitespace().collect::<Vec<_>>());
    let own_flags: Vec<_> = own_words.chunks(2).map(|pair| pair[0]).collect();
    let kept = words.chunks(2).filter(|pair| !own_flags.contains(&pair[0])).flatten();
    kept.copied().chain(own.split_whitespace()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pairs: &[(&str, &str)]) -> Row {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn rows_are_combined_and_fill_text() {
        let rows = Rows::from([
            (
                "tree".to_owned(),
                vec![row(&[("tree", "a"), ("x_1", "one")]), row(&[("tree", "b"), ("x_1", "{tree}!")])],
            ),
            ("n".to_owned(), vec![row(&[("n", "1")]), row(&[("n", "2")])]),
        ]);
        let all = |each: &[&str]| {
            let each: Vec<_> = each.iter().map(|&list| list.to_owned()).collect();
            combinations(&each, &rows, &row(&[("n", "0")]))
        };
        let of = |each: &[&str], text| -> Vec<_> {
            all(each).expect("rows").iter().map(|row| filled(text, row).expect("filled")).collect()
        };
        assert_eq!(of(&[], "{n}"), ["0"]);
        assert_eq!(of(&["tree", "n"], "{tree}{n}"), ["a1", "a2", "b1", "b2"]);
        assert_eq!(of(&["tree[tree=b,c]", "n[n=1]"], "{x_{n}}"), ["b!"]);
        assert!(all(&["none"]).is_err() && all(&["n[n=3]"]).is_err());
        assert!(filled("{a}", &row(&[])).is_err() && filled("{a}", &row(&[("a", "{a}")])).is_err());
    }

    #[test]
    fn flags_of_a_run_win_over_those_of_its_kind() {
        assert_eq!(flags("--ops 1 --rounds 2", "--ops 3"), "--rounds 2 --ops 3");
        assert_eq!(flags("--ops 1", ""), "--ops 1");
    }
}
