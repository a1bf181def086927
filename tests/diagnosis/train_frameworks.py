# SPDX-License-Identifier: Apache-2.0
"""The jobs of train_faults.py as users of Lightning, accelerate and Hugging Face's Trainer write them: each function trains
with one of them, where its packages are installed (scripts/setup --frameworks)."""
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import DataLoader

from train_faults import Net, Samples, images_of

TOKENS, WORDS = 16, 1000


def lightning(options, trouble, clock):
    import lightning as pl

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = Net(trouble)
            self.net.conv1.weight.register_hook(trouble.backward)

        def training_step(self, batch, _):
            images, labels = batch
            return nn.functional.cross_entropy(self.net(images), labels)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01, momentum=0.9)

    class Times(pl.Callback):
        def on_train_start(self, *_):
            clock.start()

        def on_train_batch_end(self, trainer, module, *_):
            trouble.after_step(module)
            clock.after_step()

    with tempfile.TemporaryDirectory() as folder:
        trainer = pl.Trainer(accelerator="cpu", devices=trouble.ranks, strategy="ddp", max_epochs=1, logger=False,
                             enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
                             default_root_dir=folder, callbacks=[Times()])
        trainer.fit(Module(), DataLoader(images_of(options, trouble), batch_size=options.batch, shuffle=True))


def accelerate(options, trouble, clock):
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    net = Net(trouble)
    net.conv1.weight.register_hook(trouble.backward)
    loader = DataLoader(images_of(options, trouble), batch_size=options.batch, shuffle=True)
    model, optimizer, loader = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9), loader)
    clock.start()
    for images, labels in loader:
        optimizer.zero_grad()
        accelerator.backward(nn.functional.cross_entropy(model(images), labels))
        optimizer.step()
        trouble.after_step(model)
        clock.after_step()


def hugging_face(options, trouble, clock):
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments

    class Classifier(BertForSequenceClassification):
        def forward(self, *inputs, **named):
            time.sleep(trouble.device_s)
            trouble.forward()
            return super().forward(*inputs, **named)

    def batch_of(items):
        tokens, labels = zip(*items)
        return {"input_ids": torch.stack(tokens), "labels": torch.stack(labels)}

    class Times(TrainerCallback):
        def on_train_begin(self, *_, **__):
            clock.start()

        def on_step_end(self, *_, model=None, **__):
            trouble.after_step(model)
            clock.after_step()

    count = options.steps * options.batch * trouble.ranks
    texts = Samples(torch.randint(0, WORDS, (count, TOKENS)), torch.randint(0, 2, (count,)), trouble)
    model = Classifier(BertConfig(vocab_size=WORDS, hidden_size=64, num_hidden_layers=2, num_attention_heads=2,
                                  intermediate_size=128, max_position_embeddings=64))
    model.bert.embeddings.word_embeddings.weight.register_hook(trouble.backward)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(output_dir=folder, per_device_train_batch_size=options.batch, max_steps=options.steps,
                                      use_cpu=True, ddp_backend="gloo", save_strategy="no", report_to=[], disable_tqdm=True,
                                      logging_strategy="no", remove_unused_columns=False)
        Trainer(model=model, args=arguments, train_dataset=texts, data_collator=batch_of, callbacks=[Times()]).train()
