#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The built-in models in PyTorch, for side-by-side runs: one model per process.

  bench/torch_peer.py MODEL [--steps N] [--threads N] [--checkpoint none|sqrt|block] [--dump DIR] [--off-the-edge]

Prints one JSON object: losses, step_seconds (median without the first), rss_peak_bytes (VmHWM less the resident size
before the model was built), params. --dump writes initial weights, buffers, x and y, and the first step's gradients, in
f32 and in f64 ("exact", and then exact_losses too), as raw little-endian files with a manifest.json, for `reprise bench --init DIR` and
bench/check_torch.py; and into DIR/next the same after the first step, with the second step's gradients in f32. --off-the-edge starts from weights with which rounding hardly ever decides on which side of 0 a
rectifier's input is.
"""
import argparse, json, math, os, statistics, time
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


def status_bytes(key):
    with open("/proc/self/status") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith(key + ":"))


# How a chain of units is run: every unit maps a tuple of tensors to one. Reentrant checkpointing wants an input that
# needs a gradient, so every segment gets one beside the data.
marker = torch.zeros(1, requires_grad=True)


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def run_units(units, state):
    for unit in units:
        state = as_tuple(unit(*state))
    return state


def run_chain(units, state, how):
    if how == "none":
        return run_units(units, state)
    count = len(units) if how == "block" else max(1, round(math.sqrt(len(units))))
    size = len(units) // count
    cuts = [i * size for i in range(count)] + [len(units)]
    for i in range(count):
        part = units[cuts[i] : cuts[i + 1]]
        if how == "sqrt" and i + 1 == count:
            return run_units(part, state)
        state = as_tuple(checkpoint(lambda _, *s, part=part: run_units(part, s), marker, *state, use_reentrant=True))
    return state


class Chain(nn.Module):
    def __init__(self, units, head):
        super().__init__()
        self.units, self.head = nn.ModuleList(units), head

    def forward(self, x, how):
        return self.head(run_chain(list(self.units), (x,), how)[0])


def mlp16():
    units = [nn.Sequential(nn.Linear(1024, 1024), nn.ReLU()) for _ in range(15)] + [nn.Linear(1024, 1024)]
    net = Chain(units, nn.Identity())
    for part in net.modules():
        if isinstance(part, nn.Linear):
            nn.init.kaiming_normal_(part.weight, nonlinearity="relu")
            nn.init.zeros_(part.bias)
    x, y = torch.randn(512, 1024), torch.randn(512, 1024)
    return net, x, y, lambda how: F.mse_loss(net(x, how), y), lambda p: torch.optim.SGD(p, 0.05)


class Block(nn.Module):
    def __init__(self, width, heads, tokens):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc, self.out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.register_buffer("mask", torch.full((tokens, tokens), -math.inf).triu(1), persistent=False)

    def forward(self, x):
        batch, tokens, width = x.shape
        parts = self.qkv(self.ln1(x)).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k, v = parts.unbind(0)
        weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(width // self.heads) + self.mask, -1)
        x = x + self.proj((weights @ v).transpose(1, 2).reshape(batch, tokens, width))
        return x + self.out(F.gelu(self.fc(self.ln2(x))))


class Head(nn.Module):
    def __init__(self, width, vocabulary):
        super().__init__()
        self.ln, self.lin = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, x):
        return self.lin(self.ln(x))


class Gpt(nn.Module):
    def __init__(self, layers, width, heads, tokens, vocabulary):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocabulary, width), nn.Embedding(tokens, width)
        self.blocks = nn.ModuleList([Block(width, heads, tokens) for _ in range(layers)])
        self.head = Head(width, vocabulary)

    def forward(self, x, how):
        return self.head(run_chain(list(self.blocks), (self.tok(x) + self.pos.weight,), how)[0])


def gpt(layers, width, heads, tokens, batch, vocabulary=65):
    net = Gpt(layers, width, heads, tokens, vocabulary)
    text = torch.randint(0, vocabulary, (batch, tokens + 1))
    x, y = text[:, :-1].contiguous(), text[:, 1:].contiguous()
    loss = lambda how: F.cross_entropy(net(x, how).view(-1, vocabulary), y.view(-1))
    return net, x, y, loss, lambda p: torch.optim.Adam(p, 3e-4)


def classifier(net, batch):
    x, y = torch.randn(batch, 3, 224, 224), torch.randint(0, 1000, (batch,))
    return net, x, y, lambda how: F.cross_entropy(net(x, how), y), lambda p: torch.optim.SGD(p, 0.01)


def resnet(name, batch):
    import torchvision

    whole = getattr(torchvision.models, name)()
    blocks = [block for layer in (whole.layer1, whole.layer2, whole.layer3, whole.layer4) for block in layer]
    stem = nn.Sequential(whole.conv1, whole.bn1, whole.relu, whole.maxpool)
    return classifier(Chain([stem] + blocks, nn.Sequential(whole.avgpool, nn.Flatten(), whole.fc)), batch)


def vgg16():
    import torchvision

    whole = torchvision.models.vgg16(dropout=0.0)
    units = []
    for layer in whole.features:
        if isinstance(layer, nn.Conv2d):
            units.append([])
        units[-1].append(layer)
    head = nn.Sequential(whole.avgpool, nn.Flatten(), whole.classifier)
    return classifier(Chain([nn.Sequential(*unit) for unit in units], head), 4)


def twice(inputs, outputs):
    layers = []
    for i in (inputs, outputs):
        layers += [nn.Conv2d(i, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers)


class Up(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.up, self.c = nn.ConvTranspose2d(inputs, outputs, 2, 2), twice(2 * outputs, outputs)

    def forward(self, x, skip):
        return self.c(torch.cat([skip, self.up(x)], 1))


class Unet(nn.Module):
    def __init__(self, width=32, levels=5):
        super().__init__()
        channels = [width << i for i in range(levels)]
        self.enc = nn.ModuleList([twice(i, o) for i, o in zip([3] + channels, channels)])
        self.dec = nn.ModuleList([Up(channels[i + 1], channels[i]) for i in reversed(range(levels - 1))])
        self.head = nn.Conv2d(width, 1, 1)

    def down(self, i):
        def unit(x, *skips):
            x = self.enc[i](F.max_pool2d(x, 2) if i else x)
            return (x, *skips, x) if i + 1 < len(self.enc) else (x, *skips)

        return unit

    def rise(self, i):
        return lambda x, *skips: (self.dec[i](x, skips[-1]), *skips[:-1])

    def forward(self, x, how):
        units = [self.down(i) for i in range(len(self.enc))] + [self.rise(i) for i in range(len(self.dec))]
        return self.head(run_chain(units, (x,), how)[0])


def unet():
    net = Unet()
    x, y = torch.randn(4, 3, 256, 256), torch.randint(0, 2, (4, 1, 256, 256)).to(torch.get_default_dtype())
    loss = lambda how: F.binary_cross_entropy_with_logits(net(x, how), y)
    return net, x, y, loss, lambda p: torch.optim.SGD(p, 0.01)


class Recurrent(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.cell, self.read = cell(64, 256), nn.Linear(256, 64)

    def unit(self, x, y, steps):
        def step(total, *state):
            state = as_tuple(self.cell(x, state if len(state) > 1 else state[0]))
            return (total + F.mse_loss(self.read(state[0]), y) / steps, *state)

        return step

    def forward(self, xs, ys, how):
        zeros, total = xs.new_zeros(xs.shape[1], 256), xs.new_zeros(())
        state = (total, zeros, zeros) if isinstance(self.cell, nn.LSTMCell) else (total, zeros)
        return run_chain([self.unit(x, y, len(xs)) for x, y in zip(xs, ys)], state, how)[0]


def recurrent(cell):
    net, x, y = Recurrent(cell), torch.randn(512, 32, 64), torch.randn(512, 32, 64)
    return net, x, y, lambda how: net(x, y, how), lambda p: torch.optim.SGD(p, 0.01)


MODELS = {
    "mlp16": mlp16,
    "gpt6": lambda: gpt(6, 384, 6, 256, 8),
    "gpt4s": lambda: gpt(4, 128, 4, 64, 32),
    "resnet18": lambda: resnet("resnet18", 8),
    "resnet50": lambda: resnet("resnet50", 4),
    "vgg16": vgg16,
    "unet": unet,
    "lstm512": lambda: recurrent(nn.LSTMCell),
    "rnn512": lambda: recurrent(nn.RNNCell),
}


def off_the_edge(net):
    """Moves what rectifiers read by five of its standard deviations. A rectifier so near to 0 that the rounding of f32 decides
    which side it is on moves the gradients of all layers before it by up to 1 %. Batch norms are moved upwards; where there
    are none, the outputs of linear layers up and down by turns."""
    norms = [part for part in net.modules() if isinstance(part, nn.BatchNorm2d)]
    with torch.no_grad():
        for norm in norms:
            norm.weight.mul_(0.6)
            norm.bias.add_(3.0)
        for linear in () if norms else (part for part in net.modules() if isinstance(part, nn.Linear)):
            linear.weight.mul_(0.2)
            linear.bias[0::2].add_(3.0)
            linear.bias[1::2].sub_(3.0)


class Dump:
    def __init__(self, folder):
        self.folder, self.manifest = folder, []
        os.makedirs(folder, exist_ok=True)

    def add(self, kind, name, tensor):
        file = f"{kind}.{name}.bin"
        array = tensor.detach().contiguous().numpy()
        array.tofile(os.path.join(self.folder, file))
        self.manifest.append(dict(kind=kind, name=name, shape=list(array.shape), dtype=str(array.dtype), file=file))

    def add_start(self, net, x, y):
        for kind, items in (("param", net.named_parameters()), ("buffer", net.named_buffers()), ("data", (("x", x), ("y", y)))):
            for name, tensor in items:
                self.add(kind, name, tensor)

    def close(self):
        with open(os.path.join(self.folder, "manifest.json"), "w") as file:
            json.dump(self.manifest, file)


def exact_steps(model, net, x, y, steps):
    """From the same weights on the same batch, in f64: the losses, and the first step's gradients by name."""
    torch.set_default_dtype(torch.float64)
    exact, x64, y64, loss_of, optimizer_of = MODELS[model]()
    torch.set_default_dtype(torch.float32)
    exact.load_state_dict(net.state_dict())
    x64.copy_(x)
    y64.copy_(y)
    optimizer = optimizer_of(list(exact.parameters()))
    losses, gradients = [], []
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of("none")
        loss.backward()
        losses.append(loss.item())
        gradients = gradients or [(name, parameter.grad.clone()) for name, parameter in exact.named_parameters()]
        optimizer.step()
    return losses, gradients


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--checkpoint", choices=["none", "sqrt", "block"], default="none")
    parser.add_argument("--dump")
    parser.add_argument("--off-the-edge", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    before = status_bytes("VmRSS")
    net, x, y, loss_of, optimizer_of = MODELS[options.model]()
    if options.off_the_edge:
        off_the_edge(net)
    optimizer = optimizer_of(list(net.parameters()))
    dumps, exact_losses = [], []
    if options.dump:
        dumps = [Dump(options.dump), Dump(os.path.join(options.dump, "next"))]
        dumps[0].add_start(net, x, y)
        exact_losses, gradients = exact_steps(options.model, net, x, y, options.steps)
        for name, gradient in gradients:
            dumps[0].add("exact", name, gradient)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    losses, seconds = [], []
    for step in range(options.steps):
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(options.checkpoint)
        loss.backward()
        if step < len(dumps):
            for name, parameter in net.named_parameters():
                dumps[step].add("gradient", name, parameter.grad)
            dumps[step].close()
        optimizer.step()
        if step == 0 and dumps:
            dumps[1].add_start(net, x, y)
        seconds.append(time.perf_counter() - start)
        losses.append(loss.item())
        del loss
    print(json.dumps(dict(model=options.model, losses=losses, exact_losses=exact_losses, step_seconds=statistics.median(seconds[1:] or seconds),
                          rss_peak_bytes=status_bytes("VmHWM") - before, params=sum(p.numel() for p in net.parameters()))))


main()
