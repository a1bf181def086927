# SPDX-License-Identifier: Apache-2.0
"""Lightning's Trainer with DDP on two ranks; rank 1 sleeps 15 ms in each training_step. It knows nothing of a profiler."""
import time

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))

    def training_step(self, batch, _):
        if self.global_rank == 1:
            time.sleep(0.015)
        x, y = batch
        return nn.functional.cross_entropy(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


def main():
    torch.set_num_threads(1)
    lightning.seed_everything(1)
    data = TensorDataset(torch.randn(80 * 64, 256), torch.randint(0, 10, (80 * 64,)))
    trainer = lightning.Trainer(accelerator="cpu", devices=2, strategy="ddp", max_epochs=1, logger=False,
                                enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Model(), DataLoader(data, batch_size=64))


if __name__ == "__main__":
    main()
