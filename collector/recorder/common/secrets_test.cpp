// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/common/secrets.h"

#include <gtest/gtest.h>

namespace dprof::recorder {
namespace {

struct SecretCase {
  const char* command;
  const char* want;
};

TEST(SecretsTest, ValuesThatAreSecretAreMaskedAndOthersAreNot) {
  const SecretCase cases[] = {
      {"train.py --api-key abc123 --lr 0.1", "train.py --api-key *** --lr 0.1"},
      {"train.py --hf_token=abc --steps=5", "train.py --hf_token=*** --steps=5"},
      {"WANDB_API_KEY=0123ab python  train.py", "WANDB_API_KEY=*** python  train.py"},
      {"sh -c \"export HF_TOKEN='abc'; python x\"", "sh -c \"export HF_TOKEN='***'; python x\""},
      {"x --password p", "x --password ***"},
      {"x --dbPassword=p", "x --dbPassword=***"},
      {"x --api-key --verbose", "x --api-key --verbose"},
      {"curl -H 'Authorization: Bearer abcdef'", "curl -H 'Authorization: Bearer ***'"},
      {"x hf_abcdefghijklmnopqrstuvwx", "x ***"},
      {"x --url=https://me:word@host/path", "x --url=https://me:***@host/path"},
      {"x postgres://me:word@host", "x postgres://me:***@host"},
      // No secrets.
      {"x --key-dim 64 --num-tokens=1024", "x --key-dim 64 --num-tokens=1024"},
      {"x --tokenizer gpt2 --keyframes=3", "x --tokenizer gpt2 --keyframes=3"},
      {"x --max-token 512 --pad-token <pad>", "x --max-token 512 --pad-token <pad>"},
      {"x --token=$HF_TOKEN", "x --token=$HF_TOKEN"},
      {"x https://host:8080/a@b", "x https://host:8080/a@b"},
      {"", ""},
      {"  x  ", "  x  "},
  };
  for (const SecretCase& one : cases) EXPECT_EQ(mask_secrets(one.command), one.want);
}

}  // namespace
}  // namespace dprof::recorder
