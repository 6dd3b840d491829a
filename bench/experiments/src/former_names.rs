//! Names in records of what has another name now. A record says what was run: its file keeps the names of that time, and who reads it
//! sees those of today.

use springbloom_records::Record;

/// What options, and settings in names of configurations, were called, and what they are called.
const NAMES: [(&str, &str); 5] = [
    ("--segment-data-bytes", "--segment-size"),
    ("@segment_data_bytes=", "@segment_size="),
    ("--salts", "--hot-key-seeds"),
    ("SPRINGBLOOM_BENCH_SALTS=", "SPRINGBLOOM_BENCH_HOT_KEY_SEEDS="),
    ("--zero-result", "--absent-share"),
];

/// `record`, with the names of today in its command and in what its figures are of.
pub(crate) fn with_names_of_today(mut record: Record) -> Record {
    let labels = record.figures.iter_mut().flat_map(|figure| figure.of.values_mut());
    for text in record.command.iter_mut().chain(labels) {
        *text = NAMES.iter().fold(text.clone(), |text, (then, now)| text.replace(then, now));
    }
    record
}

#[cfg(test)]
mod tests {
    use springbloom_records::{Clock, Figure, Unit, labels};

    use super::*;

    fn record(command: [&str; 4], config: &str) -> Record {
        let figure = Figure::new("reads", labels([("config", config.to_owned())]), 1.0, Unit::Count);
        Clock::start().finish(command.map(str::to_owned).to_vec(), 1, &(), vec![figure]).expect("a record")
    }

    #[test]
    fn what_was_renamed_is_found_by_its_name_of_today() {
        let config = "elasticbf:4@segment_data_bytes=1M@units=bloom:6x4";
        let old = record(["springbloom", "simulate", "--segment-data-bytes", "1M"], config);
        let new = with_names_of_today(old.clone());
        assert_eq!(new.command, ["springbloom", "simulate", "--segment-size", "1M"]);
        let labels = [("config", "elasticbf:4@segment_size=1M@units=bloom:6x4")];
        assert_eq!(new.figure("reads", &labels), new.figures.first());
        assert_eq!(with_names_of_today(new.clone()), new);
        assert_ne!(new, old);
    }
}
