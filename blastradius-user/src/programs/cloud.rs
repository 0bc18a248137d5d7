//! Clouds, deployments and other people's services: one table of tools and of the verbs that take something away there
//! or put something there.

use blastradius_common::{RuleId, Verdict};

use crate::programs::databases;
use crate::programs::options::{Grammar, flag, value};
use crate::programs::verbs::{self, Row, Tool, harmless, row};
use crate::programs::{Call, Machine, Program};

/// The programs of this family.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("aws", verb),
    ("gcloud", verb),
    ("gsutil", verb),
    ("bq", verb),
    ("az", verb),
    ("azcopy", verb),
    ("doctl", verb),
    ("hcloud", verb),
    ("linode-cli", verb),
    ("scw", verb),
    ("oci", verb),
    ("ibmcloud", verb),
    ("aliyun", verb),
    ("s3cmd", verb),
    ("s5cmd", verb),
    ("mc", verb),
    ("b2", verb),
    ("heroku", verb),
    ("fly", verb),
    ("flyctl", verb),
    ("railway", verb),
    ("vercel", verb),
    ("netlify", verb),
    ("firebase", verb),
    ("supabase", verb),
    ("wrangler", verb),
    ("surge", verb),
    ("terraform", verb),
    ("tofu", verb),
    ("terragrunt", verb),
    ("pulumi", verb),
    ("cdk", verb),
    ("cdktf", verb),
    ("serverless", verb),
    ("sls", verb),
    ("sam", verb),
    ("eb", verb),
    ("amplify", verb),
    ("copilot", verb),
    ("eksctl", verb),
    ("kops", verb),
    ("ansible-playbook", verb),
    ("cap", verb),
    ("vault", verb),
    ("consul", verb),
    ("nomad", verb),
    ("etcdctl", verb),
    ("nats", verb),
    ("velero", verb),
    ("rabbitmqctl", verb),
    ("kafka-topics", verb),
    ("kafka-topics.sh", verb),
    ("gh", verb),
    ("glab", verb),
    ("hub", verb),
    ("op", verb),
    ("bw", verb),
    ("pass", verb),
    ("gpg", verb),
    ("gpg2", verb),
];

const fn lost(verbs: &'static str, what: &'static str) -> Row {
    row(verbs, RuleId::RemoteResource, what)
}

const fn sent(verbs: &'static str, what: &'static str) -> Row {
    row(verbs, RuleId::OutwardAction, what)
}

/// A change of running infrastructure without a question in between.
const fn applied(verbs: &'static str, what: &'static str) -> Row {
    row(verbs, RuleId::OutwardAction, what).verdict(Verdict::Confirm)
}

const fn tool(names: &'static [&'static str], valued: &'static [&'static str], rows: &'static [Row]) -> Tool {
    Tool { names, valued, dry: &["-h"], rows }
}

const RESOURCE: &str = "deletes resources of a cloud account";
const OBJECTS: &str = "deletes stored objects";
const DEPLOYS: &str = "deploys";

static TOOLS: &[Tool] = &[
    tool(
        &["aws"],
        &["--profile", "--region", "--output", "--endpoint-url", "--query", "--color", "--ca-bundle"],
        &[
            lost("s3 rm|rb", OBJECTS),
            lost("s3 sync", OBJECTS).with(&["--delete"]),
            lost(
                "* delete-*|terminate-*|remove-*|deregister-*|purge-*|destroy-*|batch-delete*|schedule-key-deletion|release-address",
                RESOURCE,
            ),
            lost(
                "* detach-*|disable-*|revoke-*|stop-*|reboot-*|reset-*|cancel-*",
                "takes resources of a cloud account out of use",
            ),
            sent("cloudformation deploy", DEPLOYS),
            sent("* update-function-code|create-deployment|update-service", DEPLOYS),
        ],
    ),
    tool(
        &["gcloud"],
        &["--project", "--account", "--configuration", "--format", "--region", "--zone", "--verbosity"],
        &[
            harmless("config|components|auth"),
            lost("storage rm", OBJECTS),
            lost("storage rsync", OBJECTS).with(&["--delete-unmatched-destination-objects"]),
            lost("* delete|remove*|destroy|purge", RESOURCE),
            lost("* * delete|remove*|destroy|purge|reset|stop", RESOURCE),
            lost("* * * delete|remove*|destroy|purge", RESOURCE),
            lost("* * * * delete|remove*|destroy|purge", RESOURCE),
            sent("* deploy", DEPLOYS),
            sent("* * deploy", DEPLOYS),
        ],
    ),
    tool(
        &["gsutil"],
        &["-o", "-u", "-h"],
        &[
            lost("rm|rb", OBJECTS),
            lost("rsync", OBJECTS).with(&["-d"]),
            lost("lifecycle|retention set|lock", OBJECTS),
        ],
    ),
    tool(
        &["bq"],
        &["--project_id", "--dataset_id", "--location"],
        &[lost("rm|remove", "deletes tables or data sets")],
    ),
    tool(
        &["az"],
        &["--subscription", "-o", "--output", "--query"],
        &[
            harmless("account|cloud|config|extension"),
            lost("* delete*|purge|remove", RESOURCE),
            lost("* * delete*|purge|remove", RESOURCE),
            lost("* * * delete*|purge|remove", RESOURCE),
            lost("* * * * delete*|purge|remove", RESOURCE),
            sent("webapp|functionapp up|deploy", DEPLOYS),
            sent("deployment * create", DEPLOYS),
        ],
    ),
    tool(
        &["azcopy"],
        &[],
        &[lost("remove|rm", OBJECTS), lost("sync", OBJECTS).with(&["--delete-destination"])],
    ),
    tool(
        &["doctl", "hcloud", "linode-cli", "scw", "oci", "ibmcloud", "aliyun"],
        &["-t", "--context", "-c", "--profile", "-o", "--output"],
        &[
            lost("* delete*|destroy|terminate|remove|rm|rebuild|*-delete|Delete*", RESOURCE),
            lost("* * delete*|destroy|terminate|remove|rm|rebuild", RESOURCE),
            lost("* * * delete*|destroy|terminate|remove|rm", RESOURCE),
        ],
    ),
    tool(
        &["s3cmd", "s5cmd"],
        &["-c", "--config", "--profile", "--endpoint-url"],
        &[lost("rm|del|rb|expire", OBJECTS), lost("sync", OBJECTS).with(&["--delete-removed", "--delete"])],
    ),
    tool(
        &["mc"],
        &["-C", "--config-dir"],
        &[
            lost("rm|rb", OBJECTS),
            lost("mirror", OBJECTS).with(&["--remove"]),
            lost("admin * remove|rm|disable", RESOURCE),
        ],
    ),
    tool(
        &["b2"],
        &[],
        &[
            lost("delete*|rm|clear-account|cancel*", OBJECTS),
            lost("sync", OBJECTS).with(&["--delete"]),
            lost("bucket|file delete*|hide", OBJECTS),
        ],
    ),
    tool(
        &["heroku"],
        &["-a", "--app", "-r", "--remote"],
        &[
            lost(
                "destroy|*:destroy|pg:reset|*:remove|*:clear|*:delete|*:unset|ps:scale|pg:killall|apps:leave",
                RESOURCE,
            ),
            sent("releases:rollback|container:release|pipelines:promote", DEPLOYS),
        ],
    ),
    tool(
        &["fly", "flyctl"],
        &["-a", "--app", "-o", "--org"],
        &[
            lost("destroy", RESOURCE),
            lost("* destroy|delete|remove|unset|detach|rm", RESOURCE),
            lost("* * destroy|delete|remove|unset|rm", RESOURCE),
            sent("deploy|launch", DEPLOYS),
        ],
    ),
    tool(
        &["railway"],
        &["-s", "--service", "-e", "--environment"],
        &[
            lost("delete|down", RESOURCE),
            lost("* delete|remove|rm", RESOURCE),
            sent("up|deploy|redeploy", DEPLOYS),
        ],
    ),
    tool(
        &["vercel"],
        &["--token", "-t", "-S", "--scope", "--cwd"],
        &[
            lost("rm|remove", RESOURCE),
            lost("* rm|remove", RESOURCE),
            sent("deploy|promote|rollback|alias", DEPLOYS),
            sent("", DEPLOYS).with(&["--prod"]),
        ],
    ),
    tool(
        &["netlify"],
        &["--auth", "--filter"],
        &[lost("*:delete|*:unset", RESOURCE), sent("deploy", DEPLOYS)],
    ),
    tool(
        &["firebase"],
        &["-P", "--project", "--token", "-c", "--config"],
        &[
            lost("*:delete|*:remove|*:destroy|hosting:disable|firestore:indexes:delete", RESOURCE),
            sent("deploy|hosting:clone", DEPLOYS),
        ],
    ),
    tool(
        &["supabase"],
        &["--workdir", "--project-ref"],
        &[
            lost("db reset", "drops a database"),
            lost("* delete|unset|rm|remove", RESOURCE),
            sent("db push", "migrates a database"),
            sent("* deploy", DEPLOYS),
        ],
    ),
    tool(
        &["wrangler"],
        &["-c", "--config", "-e", "--env"],
        &[
            lost("delete", RESOURCE),
            lost("* delete", RESOURCE),
            lost("* * delete", RESOURCE),
            lost("d1 time-travel restore", "replaces a database with what it was"),
            sent("deploy|publish|rollback", DEPLOYS),
            sent("* deploy|publish", DEPLOYS),
        ],
    ),
    tool(&["surge"], &[], &[lost("teardown", RESOURCE), sent("", DEPLOYS)]),
    // terraform and its kin.
    Tool {
        names: &["terraform", "tofu", "terragrunt"],
        valued: &[],
        dry: &["-help", "-version"],
        rows: &[
            lost("destroy", "destroys infrastructure"),
            lost("apply", "destroys infrastructure").with(&["-destroy", "--destroy"]),
            lost("run-all|run destroy", "destroys infrastructure"),
            lost("state rm|push|replace-provider", "forgets infrastructure that exists"),
            lost("workspace delete", "forgets infrastructure that exists"),
            lost("taint|force-unlock", "lets the next run replace infrastructure"),
            applied("apply", "changes infrastructure without a question")
                .with(&["-auto-approve", "--auto-approve"]),
            applied("run-all|run apply", "changes infrastructure without a question"),
            sent("apply", "changes infrastructure"),
        ],
    },
    tool(
        &["pulumi"],
        &["-s", "--stack", "-C", "--cwd"],
        &[
            lost("destroy|down", "destroys infrastructure"),
            lost("stack rm", "forgets infrastructure that exists"),
            lost("state delete", "forgets infrastructure that exists"),
            lost("cancel", "cancels an update half-way"),
            applied("up|update", "changes infrastructure without a question").with(&[
                "-y",
                "--yes",
                "-f",
                "--skip-preview",
            ]),
            sent("up|update", "changes infrastructure"),
        ],
    ),
    tool(
        &["cdk", "cdktf"],
        &["-a", "--app", "--profile", "-c", "--context"],
        &[lost("destroy", "destroys infrastructure"), sent("deploy", DEPLOYS)],
    ),
    tool(
        &["serverless", "sls", "sam"],
        &["-s", "--stage", "-r", "--region", "--stack-name"],
        &[lost("remove|delete", "destroys infrastructure"), sent("deploy", DEPLOYS)],
    ),
    tool(
        &["eb", "amplify", "copilot", "eksctl", "kops"],
        &["--name", "--state", "-r", "--region"],
        &[
            lost("terminate|delete|remove", "destroys infrastructure"),
            lost("* delete|remove", "destroys infrastructure"),
            sent("deploy|push|publish", DEPLOYS),
            sent("* deploy", DEPLOYS),
        ],
    ),
    Tool {
        names: &["ansible-playbook"],
        valued: &["-i", "--inventory", "-e", "--extra-vars", "-l", "--limit", "-u", "--user", "-t", "--tags"],
        dry: &["-C", "--check", "--syntax-check", "--list-hosts", "--list-tasks", "--list-tags", "-h"],
        rows: &[sent("*", "changes other machines")],
    },
    tool(&["cap"], &[], &[sent("* deploy*", DEPLOYS)]),
    tool(
        &["vault"],
        &["-address", "-namespace"],
        &[
            lost("delete", "deletes secrets"),
            lost("kv delete|destroy", "deletes secrets"),
            lost("kv metadata delete", "deletes secrets"),
            lost("secrets|auth|audit disable", "deletes everything below a mount"),
            lost("operator seal|step-down|raft", "takes the vault out of use"),
            lost("lease|token revoke", "revokes credentials"),
            lost("policy|namespace delete", "deletes a policy or namespace"),
        ],
    ),
    tool(
        &["nats"],
        &["-s", "--server", "--context", "--creds"],
        &[
            lost("stream|str|s rm|delete|del|purge", "deletes messages"),
            lost("kv|object|obj rm|del|delete|purge", "deletes keys"),
            lost("consumer|con|c rm|delete|del", RESOURCE),
        ],
    ),
    tool(
        &["velero"],
        &["-n", "--namespace", "--kubeconfig"],
        &[lost("backup|restore|schedule|backup-location delete", RESOURCE), lost("delete", RESOURCE)],
    ),
    tool(
        &["consul", "nomad", "etcdctl"],
        &["--endpoints", "-address", "-namespace", "--user"],
        &[
            lost("kv delete", "deletes keys"),
            lost("del|rmdir|rm|compact", "deletes keys"),
            lost("job stop|purge", "stops a job"),
            lost("namespace|volume|var|user|role|member delete|remove|purge", RESOURCE),
            sent("job run", DEPLOYS),
        ],
    ),
    tool(
        &["rabbitmqctl"],
        &["-n", "-p"],
        &[lost(
            "delete_*|reset|force_reset|purge_queue|clear_*|stop|stop_app|forget_*",
            "deletes queues or stops the broker",
        )],
    ),
    tool(
        &["kafka-topics", "kafka-topics.sh"],
        &["--topic", "--bootstrap-server", "--zookeeper"],
        &[lost("", "deletes topics").with(&["--delete"])],
    ),
    // gh(1).
    tool(
        &["gh"],
        &["-R", "--repo"],
        &[
            harmless("auth|config|alias|extension|cache"),
            lost("repo delete|archive", "deletes or archives a repository"),
            lost("* delete*|remove*|archive", "deletes something that others see"),
            lost("repo deploy-key|autolink|ruleset delete", "deletes something that others see"),
            sent("release create|upload|edit", "publishes a release"),
            sent("pr merge", "merges for others"),
            sent("workflow run", "starts a workflow"),
        ],
    ),
    tool(
        &["glab", "hub"],
        &["-R", "--repo"],
        &[
            lost("delete", "deletes a repository"),
            lost("* delete|rm", "deletes something that others see"),
            sent("release create|upload", "publishes a release"),
            sent("mr merge", "merges for others"),
        ],
    ),
    tool(
        &["op", "bw", "pass"],
        &["--vault", "--account", "--session"],
        &[
            lost("delete|rm|remove|delete-recover", "deletes passwords"),
            lost("* delete|remove", "deletes passwords"),
        ],
    ),
    tool(
        &["gpg", "gpg2"],
        &["-u", "--local-user", "-r", "--homedir"],
        &[row("", RuleId::SecurityPosture, "deletes keys that exist nowhere else")
            .verdict(Verdict::Confirm)
            .with(&[
                "--delete-secret-keys",
                "--delete-secret-and-public-keys",
                "--delete-secret-and-public-key",
                "--delete-keys",
                "--delete-secret-key",
                "--delete-key",
            ])],
    ),
];

fn verb(call: &Call<'_>, machine: &mut dyn Machine) {
    // `gh api -X DELETE`: the method is an option's argument.
    if call.name == "gh" && deletes_by_api(call) {
        return crate::programs::acts::thing(
            machine,
            RuleId::RemoteResource,
            "deletes something of others",
            "",
        );
    }
    if call.name == "wrangler" {
        sql_of_d1(call, machine);
    }
    // `aws s3 rm help` prints a manual page.
    let asks_for_help =
        call.name == "aws" && call.args.last().is_some_and(|last| verbs::word(last) == "help");
    if !asks_for_help {
        let _spoke = verbs::read(TOOLS, call, machine);
    }
}

/// `wrangler d1 execute DB --command SQL`, `--file FILE`.
fn sql_of_d1(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        value("", "command"),
        value("", "file"),
        value("c", "config"),
        value("e", "env"),
        value("", "persist-to"),
        flag("", "local"),
    ]);
    let parsed = GRAMMAR.read(call.args);
    let [d1, execute, database] = parsed.operands.as_slice() else { return };
    // What is emulated on this machine is made again from the migrations.
    if (&*verbs::word(d1), &*verbs::word(execute)) != ("d1", "execute") || parsed.has("local") {
        return;
    }
    let place = database.source.to_string();
    let file = parsed.value("file").cloned();
    let texts = parsed.values("command").map(|field| field.text.clone()).collect::<Vec<_>>();
    for text in texts.into_iter().chain(file.and_then(|file| machine.read_file(&file))) {
        databases::sql(machine, &text, &place);
    }
}

fn deletes_by_api(call: &Call<'_>) -> bool {
    let words: Vec<_> = call.args.iter().map(verbs::word).collect();
    let method = words
        .windows(2)
        .any(|pair| matches!(&*pair[0], "-X" | "--method") && pair[1].eq_ignore_ascii_case("delete"));
    let glued = words.iter().any(|arg| matches!(&**arg, "-XDELETE" | "--method=DELETE"));
    words.first().is_some_and(|verb| verb == "api") && (method || glued)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    fn told(line: &str) -> String {
        Recorder::default().call_in(PROGRAMS, line).told().join(" ")
    }

    #[test]
    fn every_tool_of_the_table_is_a_program_of_the_family() {
        for name in TOOLS.iter().flat_map(|tool| tool.names) {
            assert!(PROGRAMS.iter().any(|(known, _)| known == name), "{name}");
        }
        for (name, _) in PROGRAMS {
            assert!(TOOLS.iter().any(|tool| tool.names.contains(name)), "{name}");
        }
    }

    #[test]
    fn what_is_deleted_elsewhere_is_asked_about() {
        for line in [
            "aws s3 rm s3://b/x --recursive",
            "aws --profile p s3 rb s3://b --force",
            "aws s3 sync . s3://b --delete",
            "aws ec2 terminate-instances --instance-ids i",
            "aws rds delete-db-instance --db-instance-identifier x",
            "gcloud projects delete x",
            "gcloud compute instances delete x --zone z",
            "gcloud --project p sql databases delete x",
            "gsutil -m rm -r gs://b",
            "az group delete -n x --yes",
            "az storage account delete -n x",
            "doctl compute droplet delete x",
            "heroku apps:destroy x",
            "heroku pg:reset",
            "fly apps destroy x",
            "vercel rm x",
            "netlify sites:delete x",
            "firebase firestore:delete --all-collections",
            "supabase db reset",
            "wrangler d1 delete x",
            "terraform destroy -auto-approve",
            "terraform -chdir=x apply -destroy",
            "terraform state rm x",
            "pulumi destroy --yes",
            "cdk destroy",
            "gh repo delete a/b --yes",
            "gh api -X DELETE repos/a/b",
            "vault kv delete secret/x",
            "wrangler d1 execute prod --remote --command 'drop table t'",
            "wrangler d1 execute prod -y --command='drop table t'",
            "nats stream rm x -f",
            "velero backup delete x --confirm",
        ] {
            assert!(told(line).starts_with("[remote-resource default]"), "{line}: {}", told(line));
        }
        assert!(told("terraform apply -auto-approve").starts_with("[outward-action confirm]"));
    }

    #[test]
    fn deploying_is_mentioned() {
        for line in [
            "vercel --prod",
            "fly deploy",
            "firebase deploy",
            "terraform apply",
            "gh release create v1",
            "ansible-playbook x.yml",
        ] {
            assert!(told(line).starts_with("[outward-action default]"), "{line}: {}", told(line));
        }
    }

    #[test]
    fn looking_is_harmless() {
        for line in [
            "wrangler d1 execute prod --local --command 'drop table t'",
            "wrangler d1 execute prod --remote --command 'select 1'",
            "nats stream ls",
            "velero backup create x",
            "aws s3 ls",
            "aws s3 rm s3://b --recursive --dryrun",
            "aws ec2 describe-instances",
            "aws s3 cp x s3://b",
            "gcloud compute instances list",
            "gcloud config unset x",
            "az vm list",
            "terraform plan -destroy",
            "terraform init",
            "pulumi preview",
            "gh pr list",
            "gh pr create --title delete",
            "gh repo clone a/b",
            "gh api repos/a/b",
            "vercel",
            "heroku logs",
            "fly status",
            "ansible-playbook --check x.yml",
            "gpg -d x",
        ] {
            assert_eq!(told(line), "", "{line}");
        }
    }
}
