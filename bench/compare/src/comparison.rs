//! The steps of a comparison.

use std::fs;

use anyhow::{Context, Result};
use springbloom_console::{folder, output};
use springbloom_records::Clock;

use crate::arguments::Compare;
use crate::database::build::Folder;
use crate::database::elastic::Elastic;
use crate::ending::Ending;
use crate::inputs::Inputs;
use crate::place;
use crate::report::{Header, Loads, Lookups, comparison, loads};
use crate::run::{self, Entrant, LoadPlan, Plan};

impl Compare {
    /// Runs the comparison and prints the report.
    pub fn run(&self) -> Result<()> {
        let clock = Clock::start();
        self.require_sense()?;
        let defaults = self.preset.defaults();
        let (records, recorded) = self.records(&defaults)?;
        let configs = self.configs()?;
        let common = self.common(&configs, records.keys.records());
        self.require_sense_of_families(&configs, &common)?;
        let temporary;
        let mut ending = None;
        let dir = match &self.dir {
            Some(dir) => dir.as_path(),
            None => {
                temporary =
                    tempfile::Builder::new().prefix("springbloom-").tempdir().context("temporary folder")?;
                ending = Some(place::remove_when_ended(temporary.path())?);
                temporary.path()
            }
        };
        let is_new = !dir.exists();
        folder::make(dir)?;
        let inputs = Inputs { clock, dir, records, recorded, configs, common, defaults };
        let compared = self.compare_in(inputs);
        if compared.is_err() {
            ending.iter().for_each(Ending::wait);
            if is_new {
                // Goes away only if it is empty.
                _ = fs::remove_dir(dir);
            }
        }
        compared
    }

    fn compare_in(&self, inputs: Inputs<'_>) -> Result<()> {
        let _lock = folder::lock(inputs.dir, "springbloom compare")?;
        if !self.set.buffered {
            place::require_direct_io(inputs.dir)?;
        }
        match self.load_only {
            Some(rounds) => self.compare_loads(&inputs, rounds),
            None => self.compare_lookups(inputs),
        }
    }

    fn compare_loads(&self, inputs: &Inputs<'_>, rounds: u32) -> Result<()> {
        let plan = self.load_plan(inputs, rounds);
        place::require_space(inputs.dir, inputs.records.record_bytes() * plan.load_records, 2)?;
        let (rows, shape) = run::run_loads(&plan)?;
        let loads = Loads { load_records: plan.load_records, load_rounds: plan.rounds };
        let header = Header { loads: Some(loads), ..self.header(inputs, &shape)? };
        output::report(|out| loads::write(out, &header, &rows, self.json))
    }

    fn compare_lookups(&self, mut inputs: Inputs<'_>) -> Result<()> {
        let Inputs { dir, records, recorded, configs, common, defaults, .. } = &inputs;
        let workload = self.workload(&records.keys, recorded.as_ref())?;
        let (warmup_ops, ops) = self.operations(defaults, recorded.as_ref())?;
        self.require_room(&inputs)?;
        let manifest = self.manifest(records, common);
        if !(self.reuse && Folder::is_there(dir)) {
            let written = recorded.as_ref().map_or(0, |recorded| recorded.replay.operations());
            let data_bytes = records.record_bytes() * (common.all(records.keys.records()) + written);
            place::require_space(dir, data_bytes, configs.len() as u64 + 1)?;
        }
        let folder = Folder::open(dir, self.reuse, &manifest, records, common)?;
        if configs.iter().any(|config| config.elastic().is_some_and(Elastic::differs)) {
            inputs.common.tables_per_get = run::tables_per_get(&folder, records, common, &workload)?;
        }
        let Inputs { records, recorded, configs, common, defaults, .. } = &inputs;
        let entrants = configs
            .iter()
            .map(|config| {
                let path = folder.database(config, common)?;
                Ok(Entrant { config: config.clone(), path })
            })
            .collect::<Result<Vec<_>>>()?;
        let plan = Plan {
            records,
            shape: &folder.shape,
            common,
            workload,
            seed: self.seed,
            // What a trace looks up is recorded.
            hot_key_seeds: if recorded.is_some() {
                1
            } else {
                self.hot_key_seeds.unwrap_or(defaults.hot_key_seeds)
            },
            threads: self.threads.clone(),
            warmup_ops,
            ops,
            rounds: self.rounds.unwrap_or(defaults.rounds),
            batch: self.set.multi_get,
            entrants: &entrants,
        };
        let mut header = self.header(&inputs, &folder.shape)?;
        header.lookups = Some(Lookups::of(&plan, recorded.as_ref()));
        let rows = run::run(&plan)?;
        output::report(|out| comparison::write(out, &header, &rows, self.json))
    }

    fn load_plan<'a>(&self, inputs: &'a Inputs<'_>, rounds: u32) -> LoadPlan<'a> {
        let records = self.set.load_records.unwrap_or(inputs.defaults.load_records);
        LoadPlan {
            dir: inputs.dir,
            configs: &inputs.configs,
            records: &inputs.records,
            common: &inputs.common,
            load_records: records.min(inputs.records.keys.records()),
            rounds,
        }
    }
}
