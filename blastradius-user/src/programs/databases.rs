//! Databases: statements on the command line or on standard input that drop, truncate or empty something.

use std::path::Path;

use blastradius_common::{RuleId, Verdict};

use crate::policy::effect::{Act, Follow};
use crate::policy::paths::normalise;
use crate::programs::options::{Grammar, Parsed, flag, optional, value};
use crate::programs::verbs::{self, Row, Tool, row, word};
use crate::programs::{Call, Dialect, Input, Machine, Program, Surroundings, acts};
use crate::shell::value::{Abstract, Field, Piece};
use crate::shell::world::{Kind, Look};

/// The programs of this family.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("psql", client),
    ("pgcli", client),
    ("mysql", client),
    ("mariadb", client),
    ("mycli", client),
    ("sqlite3", client),
    ("sqlite", client),
    ("duckdb", client),
    ("clickhouse-client", client),
    ("clickhouse", client),
    ("cqlsh", client),
    ("sqlcmd", client),
    ("cockroach", client),
    ("mongo", client),
    ("mongosh", client),
    ("redis-cli", redis),
    ("valkey-cli", redis),
    ("keydb-cli", redis),
    ("dropdb", verb),
    ("dropuser", verb),
    ("mysqladmin", verb),
    ("mariadb-admin", verb),
    ("pg_restore", verb),
    ("pg_dropcluster", verb),
    ("pg_resetwal", verb),
    ("influx", verb),
    ("influx", client),
    ("mongorestore", verb),
    ("sqlx", verb),
    ("diesel", verb),
    ("wp", verb),
    ("drush", verb),
    ("console", verb),
    ("rails", verb),
    ("rake", verb),
    ("artisan", verb),
    ("prisma", verb),
    ("sequelize", verb),
    ("sequelize-cli", verb),
    ("typeorm", verb),
    ("drizzle-kit", verb),
    ("knex", verb),
    ("django-admin", verb),
    ("alembic", verb),
    ("mix", verb),
    ("flyway", verb),
    ("liquibase", verb),
];

/// What language a client reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    Sql,
    Mongo,
}

/// A client that is handed statements.
struct Client {
    names: &'static [&'static str],
    language: Language,
    grammar: Grammar,
    /// Options whose argument is text.
    text: &'static [&'static str],
    /// Options whose argument is a file with text.
    file: &'static [&'static str],
    /// Operands from this one on are text.
    text_operands: Option<usize>,
}

static CLIENTS: &[Client] = &[
    // psql(1).
    Client {
        names: &["psql", "pgcli"],
        language: Language::Sql,
        grammar: Grammar::new(&[
            value("c", "command"),
            value("f", "file"),
            value("d", "dbname"),
            value("h", "host"),
            value("p", "port"),
            value("U", "username"),
            value("v", "set|variable"),
            value("o", "output"),
            value("L", "log-file"),
            value("P", "pset"),
            value("F", "field-separator"),
            value("R", "record-separator"),
            value("T", "table-attr"),
            flag("aAbeEnHlqsStVwWxXz01", ""),
        ]),
        text: &["command"],
        file: &["file"],
        text_operands: None,
    },
    // mysql(1).
    Client {
        names: &["mysql", "mariadb", "mycli"],
        language: Language::Sql,
        grammar: Grammar::new(&[
            value("e", "execute"),
            value("u", "user"),
            value("h", "host"),
            value("P", "port"),
            value("D", "database"),
            value("S", "socket"),
            optional("p", "password"),
            value(
                "",
                "defaults-file|defaults-extra-file|login-path|protocol|default-character-set|init-command",
            ),
            flag("ABbCfGHiNnoqrsTtUVvwX", ""),
        ]),
        text: &["execute", "init-command"],
        file: &[],
        text_operands: None,
    },
    // sqlite3(1): `sqlite3 FILE SQL …`; long options have one dash.
    Client {
        names: &["sqlite3", "sqlite"],
        language: Language::Sql,
        grammar: Grammar::new(&[
            value("", "cmd"),
            value("", "init"),
            value("", "separator|nullvalue|newline|maxsize|mmap|vfs|heap|lookaside|pagecache"),
            flag("", "readonly"),
        ])
        .single_dash(),
        text: &["cmd"],
        file: &["init"],
        text_operands: Some(1),
    },
    Client {
        names: &["duckdb"],
        language: Language::Sql,
        grammar: Grammar::new(&[
            value("c", "cmd"),
            value("s", ""),
            value("f", "file"),
            value("", "init|separator|nullvalue|newline"),
            flag("", "readonly"),
        ])
        .single_dash(),
        text: &["cmd", "s"],
        file: &["file", "init"],
        text_operands: Some(1),
    },
    Client {
        names: &["clickhouse-client", "clickhouse", "cockroach", "cqlsh", "sqlcmd"],
        language: Language::Sql,
        grammar: Grammar::new(&[
            value("q", "query"),
            value("Q", ""),
            value("e", "execute"),
            value("f", "file"),
            value("i", "queries-file"),
            value("h", "host"),
            value("u", "user"),
            value("d", "database"),
            value("S", "server"),
            value("U", ""),
            value("P", ""),
            value("", "password|port|url|keyspace"),
        ]),
        text: &["query", "Q", "execute"],
        file: &["file", "queries-file"],
        text_operands: None,
    },
    Client {
        names: &["influx"],
        language: Language::Sql,
        grammar: Grammar::new(&[
            value("", "execute"),
            value("", "host|port|database|username|password|format|precision"),
            flag("", "ssl|pretty"),
        ])
        .single_dash(),
        text: &["execute"],
        file: &[],
        text_operands: None,
    },
    Client {
        names: &["mongo", "mongosh"],
        language: Language::Mongo,
        grammar: Grammar::new(&[
            value("", "eval"),
            value("f", "file"),
            value("u", "username"),
            optional("p", "password"),
            value("", "host|port|authenticationDatabase|authenticationMechanism"),
            flag("", "quiet|norc|nodb"),
        ])
        .exact(),
        text: &["eval"],
        file: &["file"],
        text_operands: None,
    },
];

fn client(call: &Call<'_>, machine: &mut dyn Machine) {
    let Some(client) = CLIENTS.iter().find(|client| client.names.contains(&call.name)) else { return };
    let parsed = client.grammar.read(call.args);
    if parsed.informs() || parsed.has("readonly") {
        return;
    }
    let mut texts: Vec<Abstract> =
        client.text.iter().flat_map(|name| parsed.values(name)).map(|field| field.text.clone()).collect();
    if let Some(first) = client.text_operands {
        texts.extend(parsed.operands.iter().skip(first).map(|field| field.text.clone()));
    }
    let files = client.file.iter().flat_map(|name| parsed.values(name)).cloned();
    let files: Vec<Field> = files.chain(scripts(client, &parsed)).collect();
    texts.extend(files.iter().filter_map(|file| machine.read_file(file)));
    if texts.is_empty()
        && files.is_empty()
        && let Input::Text(text) = machine.stdin()
    {
        texts.push(text);
    }
    let passes = client.text_operands.is_some()
        && parsed.operands.first().is_some_and(|file| is_passing(machine, file))
        && !texts.iter().any(|text| leaves_database(&known_part(text)));
    if passes {
        return judge_passing(machine, &texts, parsed.operands.first().copied());
    }
    let place = as_place(&parsed);
    for text in &texts {
        judge(machine, client.language, text, &place);
    }
}

/// A database in memory loses nothing, and one in scratch no more than if the file were emptied.
fn judge_passing(machine: &mut dyn Machine, texts: &[Abstract], file: Option<&Field>) {
    for text in texts.iter().map(known_part) {
        shell_escapes(machine, &text);
        written_files(machine, &text);
        if let Some(file) = file.filter(|file| word(file) != IN_MEMORY && sql_loss(&text).is_some()) {
            acts::path(machine, Act::Truncate, file, Follow::Last);
        }
    }
}

/// What sqlite3 calls a database that ends with it.
const IN_MEMORY: &str = ":memory:";

/// Whether the database is one that nobody would miss: in memory, or a file in scratch, which could be removed as well.
/// What is reached through a link may be anybody's.
fn is_passing(machine: &dyn Machine, file: &Field) -> bool {
    const SCRATCH: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];
    if word(file) == IN_MEMORY {
        return true;
    }
    let Some(path) = acts::location(file, &machine.cwd()).map(|path| normalise(&path)) else { return false };
    let Some(root) = SCRATCH.iter().find(|root| path.starts_with(root)) else { return false };
    let mut below = path.ancestors().take_while(|above| *above != Path::new(root));
    below.all(|part| match machine.world().look(part) {
        Look::Absent => true,
        Look::Found(meta) => meta.kind != Kind::Link,
        Look::Unreadable => false,
    })
}

/// Whether text of sqlite3 reaches beyond the database that was named: `ATTACH`, and commands that open or read another file.
fn leaves_database(text: &str) -> bool {
    const LEAVES: &[&str] = &[".open", ".read", ".restore", ".connection", ".cd", ".load", ".import"];
    let commands = || text.lines().map(str::trim_start);
    commands().any(|line| LEAVES.iter().any(|command| line.starts_with(command)))
        || statements(text).iter().flatten().any(|word| word == "ATTACH")
}

/// `mongosh ADDRESS script.js`.
fn scripts(client: &Client, parsed: &Parsed<'_>) -> Vec<Field> {
    let is_script = |field: &&&Field| word(field).ends_with(".js");
    match client.language {
        Language::Mongo => parsed.operands.iter().filter(is_script).map(|field| (*field).clone()).collect(),
        Language::Sql => Vec::new(),
    }
}

/// The database or its address, for people.
fn as_place(parsed: &Parsed<'_>) -> String {
    let named = parsed
        .operands
        .first()
        .copied()
        .or_else(|| parsed.value("dbname"))
        .or_else(|| parsed.value("database"));
    named.map(|field| field.source.to_string()).unwrap_or_default()
}

fn judge(machine: &mut dyn Machine, language: Language, text: &Abstract, place: &str) {
    let text = known_part(text);
    let loss = match language {
        Language::Sql => {
            shell_escapes(machine, &text);
            written_files(machine, &text);
            sql_loss(&text)
        }
        Language::Mongo => mongo_loss(&text),
    };
    if let Some(loss) = loss {
        acts::thing(machine, RuleId::RemoteResource, loss, place.to_owned());
    }
}

/// Judges SQL that another program carries.
pub(crate) fn sql(machine: &mut dyn Machine, text: &Abstract, place: &str) {
    judge(machine, Language::Sql, text, place);
}

/// The text with a name for each of its holes: `DROP TABLE $T` drops whatever T is.
fn known_part(text: &Abstract) -> String {
    let part = |piece: &Piece| match piece {
        Piece::Text(known) => known.to_string(),
        Piece::Nothing(_) => String::new(),
        Piece::Hole(_) => "unknown_name".to_owned(),
    };
    text.pieces.iter().map(part).collect()
}

/// Commands of the client itself that run a shell: `\! TEXT` (psql, mysql), `.shell TEXT`, `.system TEXT` (sqlite3).
fn shell_escapes(machine: &mut dyn Machine, text: &str) {
    for line in text.lines().map(str::trim) {
        let code =
            [r"\!", ".shell ", ".system ", "system "].iter().find_map(|prefix| line.strip_prefix(prefix));
        if let Some(code) = code {
            machine.run_text(
                &Abstract::known(code.trim()),
                Dialect::Posix,
                Vec::new(),
                Surroundings::default(),
            );
        }
    }
}

/// Commands of sqlite3 that write a file over what was there: `.output FILE`, `.once FILE`, `.backup [DB] FILE`; and of
/// psql: `\o FILE`.
fn written_files(machine: &mut dyn Machine, text: &str) {
    const WRITES: &[&str] = &[".output ", ".once ", ".backup ", ".save ", ".log ", r"\o "];
    for line in text.lines().map(str::trim) {
        let behind = WRITES.iter().find_map(|command| line.strip_prefix(command));
        let file = behind.and_then(|behind| behind.split_whitespace().last());
        if let Some(file) = file.filter(|file| !file.starts_with(['|', '-']) && *file != "stdout") {
            acts::path(machine, Act::Replace, &Field::literal(file.trim_matches(['\'', '"'])), Follow::Last);
        }
    }
}

/// The words of each statement: strings, quoted names and comments taken out, in upper case.
fn statements(text: &str) -> Vec<Vec<String>> {
    let mut statements = vec![Vec::new()];
    let mut word = String::new();
    let mut letters = text.chars().peekable();
    let end_word = |word: &mut String, statements: &mut Vec<Vec<String>>| {
        if !word.is_empty()
            && let Some(last) = statements.last_mut()
        {
            last.push(std::mem::take(word).to_uppercase());
        }
    };
    while let Some(letter) = letters.next() {
        match letter {
            '\'' | '"' | '`' => {
                end_word(&mut word, &mut statements);
                letters.by_ref().take_while(|next| *next != letter).for_each(drop);
                word.push_str("quoted");
                end_word(&mut word, &mut statements);
            }
            '-' if letters.peek() == Some(&'-') => {
                letters.by_ref().take_while(|next| *next != '\n').for_each(drop)
            }
            '/' if letters.peek() == Some(&'*') => {
                let mut last = ' ';
                let ends = |next: &char| {
                    let ends = last == '*' && *next == '/';
                    last = *next;
                    ends
                };
                letters.by_ref().skip(1).find(ends);
            }
            ';' => {
                end_word(&mut word, &mut statements);
                statements.push(Vec::new());
            }
            _ if letter.is_alphanumeric() || matches!(letter, '_' | '.' | '$' | '*') => word.push(letter),
            _ => end_word(&mut word, &mut statements),
        }
    }
    end_word(&mut word, &mut statements);
    statements
}

/// What the worst statement of a text loses.
fn sql_loss(text: &str) -> Option<&'static str> {
    statements(text).iter().find_map(|words| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let has = |word: &str| words.contains(&word);
        match words.as_slice() {
            ["DROP", "TEMPORARY" | "TEMP", ..] => None,
            ["DROP", "DATABASE" | "SCHEMA" | "KEYSPACE", ..] => Some("drops a database"),
            ["DROP", "TABLE" | "COLLECTION" | "MATERIALIZED", ..] => Some("drops a table"),
            [
                "DROP",
                "USER" | "ROLE" | "OWNED" | "TABLESPACE" | "SEQUENCE" | "TYPE" | "EXTENSION" | "PUBLICATION",
                ..,
            ] => Some("drops a part of a database"),
            ["TRUNCATE", ..] => Some("empties a table"),
            ["DELETE", "FROM", ..] if !has("WHERE") && !has("USING") => Some("deletes every row of a table"),
            ["UPDATE", ..] if has("SET") && !has("WHERE") => Some("overwrites every row of a table"),
            ["ALTER", "TABLE", ..] if has("DROP") && !has("CONSTRAINT") && !has("DEFAULT") && !has("NOT") => {
                Some("drops a column or partition of a table")
            }
            _ => None,
        }
    })
}

/// JavaScript without what its quotes hold: what is only printed or stored drops nothing.
fn without_strings(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        kept.push(letter);
        if !matches!(letter, '"' | '\'' | '`') {
            continue;
        }
        while let Some(inner) = letters.next() {
            if inner == '\\' {
                letters.next();
            } else if inner == letter {
                kept.push(inner);
                break;
            }
        }
    }
    kept
}

/// What a script of the MongoDB shell loses.
fn mongo_loss(text: &str) -> Option<&'static str> {
    let dense: String = without_strings(text).chars().filter(|letter| !letter.is_whitespace()).collect();
    let empties = [".deleteMany({})", ".remove({})", ".deleteMany()", ".remove()"];
    if dense.contains(".dropDatabase(") {
        Some("drops a database")
    } else if dense.contains(".drop()") || dense.contains("dropUser(") || dense.contains("dropAllUsers(") {
        Some("drops a collection")
    } else if empties.iter().any(|call| dense.contains(call)) {
        Some("deletes every document of a collection")
    } else {
        None
    }
}

/// redis-cli: the command is the first operand, or stands on each line of standard input.
fn redis(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        value("h", ""),
        value("p", ""),
        value("s", ""),
        value("a", "pass"),
        value("n", ""),
        value("u", ""),
        value("r", ""),
        value("i", ""),
        value("d", ""),
        value("D", ""),
        value("", "user|pattern|eval|cacert|cert|key|sni"),
        flag("xcetv", "raw|csv|scan|bigkeys|tls|no-auth-warning|stat|latency"),
    ])
    .in_order()
    .exact();
    let parsed = GRAMMAR.read(call.args);
    let on_command_line: Vec<String> = parsed.rest.iter().map(|field| word(field).to_uppercase()).collect();
    let mut commands = vec![on_command_line];
    if let (true, Input::Text(text)) = (parsed.rest.is_empty(), machine.stdin())
        && let Some(text) = text.as_known()
    {
        commands =
            text.lines().map(|line| line.split_whitespace().map(str::to_uppercase).collect()).collect();
    }
    for command in commands {
        let first = command.first().map(String::as_str).unwrap_or_default();
        let loss = match first {
            "FLUSHALL" | "FLUSHDB" => Some((None, "empties a database")),
            "SHUTDOWN" | "SWAPDB" | "REPLICAOF" | "SLAVEOF" => {
                Some((None, "stops a database or replaces its data"))
            }
            "DEL" | "UNLINK" => Some((Some(Verdict::Warn), "deletes keys")),
            _ => None,
        };
        match loss {
            Some((None, what)) => acts::thing(machine, RuleId::RemoteResource, what, command.join(" ")),
            Some((Some(verdict), what)) => {
                acts::judged_thing(machine, RuleId::RemoteResource, verdict, what, command.join(" "));
            }
            None => {}
        }
    }
}

const fn lost(verbs: &'static str, what: &'static str) -> Row {
    row(verbs, RuleId::RemoteResource, what)
}

const fn tool(names: &'static [&'static str], valued: &'static [&'static str], rows: &'static [Row]) -> Tool {
    Tool { names, valued, dry: &["-?"], rows }
}

const DROPS: &str = "drops a database";

static TOOLS: &[Tool] = &[
    tool(
        &["dropdb", "dropuser"],
        &["-h", "-p", "-U", "--host", "--port", "--username"],
        &[lost("*", "drops a database or its user")],
    ),
    tool(
        &["mysqladmin", "mariadb-admin"],
        &["-u", "-h", "-P", "-S", "--user", "--host"],
        &[lost("drop", DROPS), lost("shutdown|kill", "stops a database")],
    ),
    tool(
        &["pg_restore"],
        &["-d", "-h", "-p", "-U"],
        &[lost("", "drops what it restores first").with(&["-c", "--clean"])],
    ),
    tool(
        &["mongorestore"],
        &["--host", "--port", "--uri", "-d", "--db", "-u", "-p"],
        &[lost("", "drops what it restores first").with(&["--drop"])],
    ),
    tool(&["sqlx", "diesel"], &["-D", "--database-url"], &[lost("database drop|reset", DROPS)]),
    tool(
        &["wp"],
        &["--path", "--url", "--ssh"],
        &[lost("db drop|reset|clean", DROPS), lost("site empty|delete", "empties a site")],
    ),
    tool(&["drush"], &["-r", "--root", "-l", "--uri"], &[lost("sql-drop|sql:drop", DROPS)]),
    // Symfony's bin/console.
    tool(&["console"], &["-e", "--env"], &[lost("doctrine:database:drop|doctrine:schema:drop", DROPS)]),
    tool(&["pg_dropcluster"], &[], &[lost("*", DROPS)]),
    tool(&["pg_resetwal"], &[], &[lost("*", "discards the log of a database")]),
    tool(
        &["influx"],
        &["--host", "--token", "--org"],
        &[lost("delete", "deletes points"), lost("* delete", "deletes a bucket or another object")],
    ),
    // Frameworks and their migration tools.
    tool(
        &["rails", "rake"],
        &[],
        &[lost(
            "db:drop*|db:reset|db:purge*|db:migrate:reset|db:schema:load|db:truncate_all|db:seed:replant",
            DROPS,
        )],
    ),
    tool(
        &["artisan"],
        &["--database", "--env"],
        &[lost("migrate:fresh|migrate:refresh|migrate:reset|db:wipe", DROPS)],
    ),
    tool(
        &["prisma"],
        &["--schema"],
        &[
            lost("migrate reset", DROPS),
            lost("db push", DROPS).with(&["--force-reset", "--accept-data-loss"]),
        ],
    ),
    tool(
        &["sequelize", "sequelize-cli", "typeorm", "knex"],
        &["--env", "--config", "-d"],
        &[lost("db:drop|schema:drop|db:migrate:undo:all|migrate:rollback", DROPS)],
    ),
    tool(
        &["drizzle-kit"],
        &["--config", "--dialect", "--schema"],
        &[
            lost("push", "drops what the schema no longer names").with(&["--force"]),
            lost("drop", "forgets a migration"),
        ],
    ),
    tool(
        &["django-admin"],
        &["--settings", "--pythonpath"],
        &[
            lost("flush|reset_db|sqlflush", "empties a database"),
            lost("migrate * zero", "undoes every migration"),
        ],
    ),
    tool(&["alembic"], &["-c", "--config", "-x"], &[lost("downgrade base", "undoes every migration")]),
    tool(&["mix"], &[], &[lost("ecto.drop|ecto.reset", DROPS)]),
    tool(&["flyway", "liquibase"], &[], &[lost("clean|drop-all|dropAll", DROPS), lost("* clean", DROPS)]),
];

/// Reads a framework's command by the framework's name: for scripts that are run by an interpreter.
pub(crate) fn framework(name: &str, args: &[Field], machine: &mut dyn Machine) {
    let _spoke = verbs::read(TOOLS, &Call { name, args }, machine);
}

fn verb(call: &Call<'_>, machine: &mut dyn Machine) {
    let _spoke = verbs::read(TOOLS, call, machine);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    fn call(line: &str) -> Recorder {
        with(line, Recorder::default())
    }

    fn with(line: &str, recorder: Recorder) -> Recorder {
        recorder.call_in(PROGRAMS, line)
    }

    #[test]
    fn statements_that_drop_or_empty_are_asked_about() {
        for line in [
            "psql -c 'DROP DATABASE prod'",
            "psql -h x -U y db -c 'select 1; drop table if exists t;'",
            "psql db --command='truncate t'",
            "mysql -u root -psecret -e 'DROP SCHEMA x'",
            "mysql -e 'delete from t;'",
            "mysql -e 'UPDATE t SET a = 1'",
            "sqlite3 data.db 'drop table t'",
            "sqlite3 /tmp/../srv/t.db 'drop table t'",
            "sqlite3 /tmp/t.db 'attach database x as t; drop table t.t'",
            "sqlite3 /tmp/t.db '.open /srv/t.db' 'drop table t'",
            "sqlite3 -batch data.db 'delete from t'",
            "clickhouse-client --query 'DROP TABLE t'",
            "psql -c 'alter table t drop column c'",
            "mongosh --quiet db --eval 'db.dropDatabase()'",
            "mongosh --eval 'db.t.deleteMany( {} )'",
            "redis-cli FLUSHALL",
            "redis-cli -h x -n 1 flushdb async",
            "dropdb prod",
            "mysqladmin -u root drop prod",
            "rails db:drop",
            "rake db:reset",
            "prisma migrate reset --force",
            "mix ecto.drop",
        ] {
            assert!(
                call(line).told().concat().starts_with("[remote-resource default]"),
                "{line}: {:?}",
                call(line).told()
            );
        }
    }

    #[test]
    fn a_database_in_scratch_is_a_file_that_is_emptied() {
        let told = |line: &str| {
            let recorder = Recorder::default().link("/tmp/link.db", "/srv/t.db").link("/tmp/dir", "/srv");
            recorder.call(client, line).told()
        };
        assert_eq!(told("sqlite3 /tmp/t.db 'drop table t'"), ["truncate /tmp/t.db"]);
        assert_eq!(told("sqlite3 /var/tmp/../tmp/t.db 'delete from t'"), ["truncate /var/tmp/../tmp/t.db"]);
        assert!(told("sqlite3 /tmp/t.db 'select 1'").is_empty());
        for line in ["sqlite3 /tmp/link.db 'drop table t'", "sqlite3 /tmp/dir/t.db 'drop table t'"] {
            assert!(told(line)[0].starts_with("[remote-resource"), "{line}: {:?}", told(line));
        }
    }

    #[test]
    fn statements_that_read_or_choose_are_harmless() {
        for line in [
            "psql -c 'select * from t'",
            "psql -l",
            "psql -c 'delete from t where id = 1'",
            "psql -c \"select 'drop table t'\"",
            "psql -c 'select 1 -- drop table t'",
            "psql -c 'select 1 /* ; drop table t */'",
            "psql -c 'drop index i'",
            "mongosh --eval 'print(\"db.dropDatabase()\")'",
            "psql -c 'alter table t alter column c drop not null'",
            "mysql -e 'show tables'",
            "mysql -u root -p",
            "sqlite3 data.db .tables",
            "sqlite3 -readonly data.db 'drop table t'",
            "sqlite3 :memory: 'create table t(a); drop table t'",
            "mongosh --eval 'db.t.find()'",
            "mongosh --eval 'db.t.deleteMany({a: 1})'",
            "redis-cli GET FLUSHALL",
            "redis-cli ping",
            "dropdb --help",
            "rails db:migrate",
            "prisma migrate dev",
        ] {
            assert!(call(line).is_harmless(), "{line}: {:?}", call(line).told());
        }
    }

    #[test]
    fn text_comes_from_stdin_and_files_too() {
        let piped = Recorder::default().stdin(Input::Text(Abstract::known("drop table t; vacuum;\n")));
        assert_eq!(with("sqlite3 data.db", piped).told().len(), 1);
        let piped = Recorder::default().stdin(Input::Text(Abstract::known("drop table t;")));
        assert!(with("sqlite3 data.db 'select 1'", piped).told().is_empty());
        let file = Recorder::default().file("x.sql", "DROP TABLE t;");
        assert_eq!(with("psql -f x.sql", file).told().len(), 1);
        let piped = Recorder::default().stdin(Input::Text(Abstract::known("FLUSHALL\n")));
        assert_eq!(with("redis-cli", piped).told().len(), 1);
    }

    #[test]
    fn clients_run_shells() {
        assert_eq!(call(r"psql -c '\! rm -rf ~'").sourced(), ["rm -rf ~"]);
        assert_eq!(call("sqlite3 x '.shell rm -rf ~'").sourced(), ["rm -rf ~"]);
        assert_eq!(call("sqlite3 x '.output y' '.dump'").told(), ["replace y"]);
    }
}
