//! `springbloom explain`: which blocks a lookup of one key reads, and why.

mod asked_table;
mod explanation;

use std::{ffi::OsString, os::unix::ffi::OsStrExt};

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use rocksdb::{DB, Options};
use springbloom_console::{bad_input, output};
use springbloom_rocksdb::inspect;
use springbloom_rocksdb::listed_tables::{Comparator, ListedTable};

use self::asked_table::AskedTable;
use self::explanation::{Explanation, Lookup};
use super::advise::log::Log;
use crate::database::{Database, Read};

/// Tell why a lookup of a key reads the blocks that it reads
///
/// Asks the tables that may hold the key, from the newest to the oldest, as RocksDB does: which filter unit rejects the key, whether the
/// table holds it, and which blocks are read. Writes nothing. What is in memtables is not seen.
#[derive(Args, Debug)]
pub(crate) struct Explain {
    #[command(flatten)]
    database: Database,
    /// The key: text, or 0x and hexadecimal digits
    #[arg(value_parser = OsStringValueParser::new().try_map(key_of))]
    key: Box<[u8]>,
    /// Column family
    #[arg(long, value_name = "NAME", default_value = "default")]
    family: String,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

fn key_of(text: OsString) -> Result<Box<[u8]>, String> {
    let Some(digits) = text.as_bytes().strip_prefix(b"0x") else { return Ok(text.as_bytes().into()) };
    let digit = |&digit: &u8| Some(char::from(digit).to_digit(16)? as u8);
    let digits: Option<Vec<u8>> = digits.iter().map(digit).collect();
    let (pairs, []) = digits.as_deref().unwrap_or(&[0]).as_chunks::<2>() else {
        return Err("expected an even number of hexadecimal digits behind 0x".to_owned());
    };
    Ok(pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

impl Explain {
    /// Prints what a lookup of the key reads.
    ///
    /// # Errors
    /// A database that cannot be read, a column family that is not there or whose comparator is not known. After the report: tables,
    /// units or saved use that are damaged; units that reject a key that is there.
    pub(crate) fn run(&self) -> Result<()> {
        let mut tables = self.database.tables()?;
        tables.retain(|table| *table.column_family == *self.family);
        if tables.is_empty() {
            self.require_family()?;
        }
        let comparator = self.comparator(&tables)?;
        let tables_of_family = tables.len();
        // RocksDB asks each of a few that are all in level 0, without a look at its keys.
        let asks_all = tables_of_family <= 3 && tables.iter().all(|table| table.level == 0);
        tables.retain(|table| asks_all || table.spans(&self.key, comparator));
        tables.sort_by_key(ListedTable::age);
        let (usage, use_fault) = self.database.saved_use();
        let log = Log::of_folder(self.database.folder()).ok().flatten();
        let options = log.as_ref().and_then(|log| log.families.get(&self.family));
        let (mut asked, mut gone) = (Vec::new(), Vec::new());
        for table in tables {
            let read = self.database.read(&table, |path| {
                let mut report = inspect::key(path, &self.key, comparator)?;
                report.index_blocks -=
                    options.map_or(0, |options| options.held_index_blocks(table.level, report.index_blocks));
                let used = usage.as_ref().map(|usage| usage.of_table(path)).transpose();
                Ok((report, used.ok().flatten().flatten()))
            })?;
            match read {
                Read::Done((report, used)) => asked.push(AskedTable::of(&table, report, used.as_ref())),
                Read::Gone => gone.push(table),
                Read::Damaged(error) => asked.push(AskedTable::damaged(&table, &error)),
            }
        }
        self.database.explain_gone(&gone)?;
        let explanation = Explanation::of(Lookup {
            key: self.key.escape_ascii().to_string(),
            column_family: self.family.clone(),
            tables_of_family,
            saved_seconds_ago: usage.and_then(|_| self.database.saved_ago()).map(|age| age.as_secs()),
            are_indexes_cached: options.and_then(|options| options.cache_index_and_filter_blocks),
            tables: asked,
        });
        match self.json {
            true => output::json(&explanation)?,
            false => output::report(|out| explanation.write_text(out))?,
        }
        let folder = self.database.folder().display();
        if let Some(table) = explanation.wrongly_rejected() {
            bail!(
                "{folder}: the units of {table} reject a key that it holds: evict all units with a budget of 0, and report it"
            );
        }
        if let Some(table) = explanation.first_damaged() {
            bail!("{folder}: a table or its filter units are damaged: {table}");
        }
        use_fault.map_or(Ok(()), Err)
    }

    /// Refuses a column family that is not there.
    fn require_family(&self) -> Result<()> {
        let families = DB::list_cf(&Options::default(), self.database.folder())?;
        if families.contains(&self.family) {
            return Ok(());
        }
        Err(bad_input(format!(
            "{}: there is no column family {:?}, expected one of: {}",
            self.database.folder().display(),
            self.family,
            families.join(", ")
        )))
    }

    /// The comparator of all these tables.
    fn comparator(&self, tables: &[ListedTable]) -> Result<Comparator> {
        let Some(table) = tables.first() else { return Ok(Comparator::Bytewise) };
        Comparator::named(&table.comparator).ok_or_else(|| {
            bad_input(format!(
                "{}: column family {:?} has the comparator {:?}, expected that of bytes or its reverse, without timestamps",
                self.database.folder().display(),
                self.family,
                table.comparator
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn keys_are_bytes_or_hexadecimal() {
        let not_text = OsString::from_vec(vec![0xff, b'x']);
        assert_eq!(*key_of(not_text).expect("any bytes"), *b"\xffx");
        for (text, key) in [
            ("user17", &b"user17"[..]),
            ("", b""),
            ("0x", b""),
            ("0x00fF7c", b"\x00\xff|"),
            ("é", "é".as_bytes()),
        ] {
            assert_eq!(*key_of(text.into()).expect(text), *key, "{text}");
        }
        for text in ["0x1", "0xgg", "0x+1", "0x0é"] {
            assert!(
                key_of(text.into()).expect_err(text).contains("even number of hexadecimal digits"),
                "{text}"
            );
        }
    }
}
