# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's Trainer on a small GPT-2 with random weights and data: its launches take longer than its kernels."""
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 640

    def __getitem__(self, index):
        tokens = torch.randint(0, 1000, (256,))
        return {"input_ids": tokens, "labels": tokens}


model = GPT2LMHeadModel(GPT2Config(n_layer=6, n_head=8, n_embd=512, vocab_size=1000, n_positions=256))
arguments = TrainingArguments(output_dir="out", per_device_train_batch_size=16, max_steps=40, logging_steps=20,
                              save_strategy="no", report_to=[], bf16=True, dataloader_num_workers=2)
Trainer(model=model, args=arguments, train_dataset=Texts()).train()
