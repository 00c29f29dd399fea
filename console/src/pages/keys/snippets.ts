// How each client begins with an environment of this installation. The examples ask for a feature of the environment by its name.

export interface Snippet {
  key: string
  title: string
  /** How it is installed. */
  install: string
  /** Whether it may use a server key, and so decide by itself. */
  server: boolean
  code: (s: Subject) => string
}

export interface Subject {
  url: string // of the API, ending in a slash
  key: string
  feature: string
}

export const snippets: Snippet[] = [
  {
    key: 'js',
    title: 'JavaScript',
    install: 'npm install @flagsmith/flagsmith',
    server: false,
    code: s => `import flagsmith from '@flagsmith/flagsmith'

await flagsmith.init({
  environmentID: '${s.key}',
  api: '${s.url}',
  identity: 'user-1',
})

const on = flagsmith.hasFeature('${s.feature}')
const value = flagsmith.getValue('${s.feature}')`,
  },
  {
    key: 'react',
    title: 'React',
    install: 'npm install @flagsmith/flagsmith',
    server: false,
    code: s => `import flagsmith from '@flagsmith/flagsmith'
import { FlagsmithProvider, useFlags } from '@flagsmith/flagsmith/react'

export const App = () => (
  <FlagsmithProvider flagsmith={flagsmith} options={{ environmentID: '${s.key}', api: '${s.url}' }}>
    <Page />
  </FlagsmithProvider>
)

function Page() {
  const flag = useFlags(['${s.feature}'])['${s.feature}']
  return <p>{flag.enabled ? 'on' : 'off'}: {flag.value}</p>
}`,
  },
  {
    key: 'node',
    title: 'Node',
    install: 'npm install flagsmith-nodejs',
    server: true,
    code: s => `import { Flagsmith } from 'flagsmith-nodejs'

const flagsmith = new Flagsmith({
  environmentKey: '${s.key}',
  apiUrl: '${s.url}',${s.key.startsWith('ser.') ? '\n  enableLocalEvaluation: true,' : ''}
})

const flags = await flagsmith.getIdentityFlags('user-1', { plan: 'gold' })
const on = flags.isFeatureEnabled('${s.feature}')
const value = flags.getFeatureValue('${s.feature}')`,
  },
  {
    key: 'python',
    title: 'Python',
    install: 'pip install flagsmith',
    server: true,
    code: s => `from flagsmith import Flagsmith

flagsmith = Flagsmith(
    environment_key="${s.key}",
    api_url="${s.url}",${s.key.startsWith('ser.') ? '\n    enable_local_evaluation=True,' : ''}
)

flags = flagsmith.get_identity_flags(identifier="user-1", traits={"plan": "gold"})
on = flags.is_feature_enabled("${s.feature}")
value = flags.get_feature_value("${s.feature}")`,
  },
  {
    key: 'java',
    title: 'Java',
    install: 'com.flagsmith:flagsmith-java-client',
    server: true,
    code: s => `FlagsmithClient flagsmith = FlagsmithClient.newBuilder()
    .setApiKey("${s.key}")
    .withConfiguration(FlagsmithConfig.newBuilder()
        .baseUri("${s.url}")${s.key.startsWith('ser.') ? '\n        .withLocalEvaluation(true)' : ''}
        .build())
    .build();

Flags flags = flagsmith.getIdentityFlags("user-1", Map.of("plan", "gold"));
boolean on = flags.isFeatureEnabled("${s.feature}");
Object value = flags.getFeatureValue("${s.feature}");`,
  },
  {
    key: 'go',
    title: 'Go',
    install: 'go get github.com/Flagsmith/flagsmith-go-client/v4',
    server: true,
    code: s => `import flagsmith "github.com/Flagsmith/flagsmith-go-client/v4"

client := flagsmith.NewClient("${s.key}",
	flagsmith.WithBaseURL("${s.url}"),${s.key.startsWith('ser.') ? '\n\tflagsmith.WithLocalEvaluation(ctx),' : ''}
)

flags, err := client.GetIdentityFlags(ctx, "user-1", []*flagsmith.Trait{{TraitKey: "plan", TraitValue: "gold"}})
on, err := flags.IsFeatureEnabled("${s.feature}")
value, err := flags.GetFeatureValue("${s.feature}")`,
  },
  {
    key: 'dotnet',
    title: '.NET',
    install: 'dotnet add package Flagsmith',
    server: true,
    code: s => `using Flagsmith;

var flagsmith = new FlagsmithClient(new FlagsmithConfiguration
{
    EnvironmentKey = "${s.key}",
    ApiUri = new Uri("${s.url}"),${s.key.startsWith('ser.') ? '\n    EnableLocalEvaluation = true,' : ''}
});

var flags = await flagsmith.GetIdentityFlags("user-1");
var on = await flags.IsFeatureEnabled("${s.feature}");
var value = await flags.GetFeatureValue("${s.feature}");`,
  },
  {
    key: 'ruby',
    title: 'Ruby',
    install: 'gem install flagsmith',
    server: true,
    code: s => `require 'flagsmith'

flagsmith = Flagsmith::Client.new(
  environment_key: '${s.key}',
  api_url: '${s.url}',${s.key.startsWith('ser.') ? '\n  enable_local_evaluation: true,' : ''}
)

flags = flagsmith.get_identity_flags('user-1', plan: 'gold')
on = flags.is_feature_enabled('${s.feature}')
value = flags.get_feature_value('${s.feature}')`,
  },
  {
    key: 'php',
    title: 'PHP',
    install: 'composer require flagsmith/flagsmith-php-client',
    server: true,
    code: s => `<?php

use Flagsmith\\Flagsmith;

$flagsmith = new Flagsmith('${s.key}', '${s.url}');

$flags = $flagsmith->getIdentityFlags('user-1', (object) ['plan' => 'gold']);
$on = $flags->isFeatureEnabled('${s.feature}');
$value = $flags->getFeatureValue('${s.feature}');`,
  },
  {
    key: 'rust',
    title: 'Rust',
    install: 'cargo add flagsmith',
    server: true,
    code: s => `use flagsmith::{Flagsmith, FlagsmithOptions};

let options = FlagsmithOptions {
    api_url: "${s.url}".into(),${s.key.startsWith('ser.') ? '\n    enable_local_evaluation: true,' : ''}
    ..Default::default()
};
let flagsmith = Flagsmith::new("${s.key}".into(), options);

let flags = flagsmith.get_identity_flags("user-1", None, None)?;
let on = flags.is_feature_enabled("${s.feature}")?;
let value = flags.get_feature_value_as_string("${s.feature}")?;`,
  },
  {
    key: 'swift',
    title: 'Swift (iOS)',
    install: 'https://github.com/Flagsmith/flagsmith-ios-client',
    server: false,
    code: s => `import FlagsmithClient

Flagsmith.shared.apiKey = "${s.key}"
Flagsmith.shared.baseURL = URL(string: "${s.url}")!

let on = try await Flagsmith.shared.hasFeatureFlag(withID: "${s.feature}", forIdentity: "user-1")`,
  },
  {
    key: 'kotlin',
    title: 'Kotlin (Android)',
    install: 'com.github.Flagsmith:flagsmith-kotlin-android-client',
    server: false,
    code: s => `import com.flagsmith.Flagsmith

val flagsmith = Flagsmith(
    environmentKey = "${s.key}",
    baseUrl = "${s.url}",
    context = context,
)

flagsmith.hasFeatureFlag("${s.feature}", identity = "user-1") { result ->
    val on = result.getOrDefault(false)
}`,
  },
  {
    key: 'flutter',
    title: 'Flutter',
    install: 'flutter pub add flagsmith',
    server: false,
    code: s => `import 'package:flagsmith/flagsmith.dart';

final flagsmith = FlagsmithClient(
  apiKey: '${s.key}',
  config: const FlagsmithConfig(baseURI: '${s.url}'),
);

await flagsmith.getFeatureFlags(user: Identity(identifier: 'user-1'));
final on = await flagsmith.isFeatureFlagEnabled('${s.feature}');
final value = await flagsmith.getFeatureFlagValue('${s.feature}');`,
  },
  {
    key: 'curl',
    title: 'curl',
    install: '',
    server: true,
    code: s => `curl -H 'X-Environment-Key: ${s.key}' \\
  '${s.url}flags/?feature=${encodeURIComponent(s.feature)}'

curl -H 'X-Environment-Key: ${s.key}' -H 'Content-Type: application/json' \\
  -d '{"identifier": "user-1", "traits": [{"trait_key": "plan", "trait_value": "gold"}]}' \\
  '${s.url}identities/'`,
  },
]
