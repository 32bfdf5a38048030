"""`SummaryWriter`, and the `FileWriter` of one event file under it."""

from __future__ import annotations

import os
import socket
import time
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tensorboard.compat.proto.event_pb2 import Event, SessionLog, TaggedRunMetadata
from tensorboard.summary.writer.event_file_writer import EventFileWriter

import mindtorch_v2 as torch
from mindtorch_v2.utils.tensorboard import _media, summary

__all__ = ["FileWriter", "SummaryWriter"]


class FileWriter:
    """Write events to a new file in `log_dir`, in a thread of its own: after `max_queue` events or `flush_secs` seconds."""

    def __init__(self, log_dir: Any, max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = "") -> None:
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        """The directory of the file."""
        return self.event_writer.get_logdir()

    def add_event(self, event: Any, step: int | None = None, walltime: float | None = None) -> None:
        """Write an event, at a step and a time in seconds (now, if None)."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: int | None = None, walltime: float | None = None) -> None:
        """Write a summary as an event."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        """Write out what is waiting."""
        self.event_writer.flush()

    def close(self) -> None:
        """Write out what is waiting and close the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Begin a new file."""
        self.event_writer.reopen()


def _default_bins():
    """Limits that grow by a tenth from 1e-12 to 1e20, their negatives, and 0."""
    limits, limit = [], 1e-12
    while limit < 1e20:
        limits.append(limit)
        limit *= 1.1
    return [-limit for limit in reversed(limits)] + [0] + limits


class SummaryWriter:
    """Write what TensorBoard shows to event files in `log_dir` ("runs/<time>_<host><comment>", if None).

    Events of a step from `purge_step` on, which an interrupted run left there, are hidden. A context manager, which closes.
    Values may be tensors, arrays or numbers; `walltime` is in seconds, now if None.
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer: Any = None
        self.all_writers: Any = None
        self.default_bins = _default_bins()
        self._get_file_writer()

    def _new_writer(self, log_dir):
        return FileWriter(log_dir, self.max_queue, self.flush_secs, self.filename_suffix)

    def _get_file_writer(self):
        """The writer of the main file; a new one after `close`."""
        if self.file_writer is None:
            self.file_writer = self._new_writer(self.log_dir)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                step, self.purge_step = self.purge_step, None
                self.file_writer.add_event(Event(step=step, file_version="brain.Event:2"))
                self.file_writer.add_event(Event(step=step, session_log=SessionLog(status=SessionLog.START)))
        return self.file_writer

    def _add(self, made, global_step, walltime) -> None:
        self._get_file_writer().add_summary(made, global_step, walltime)

    def get_logdir(self) -> str:
        """The directory of the event files."""
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Write one number."""
        self._add(summary.scalar(tag, scalar_value, new_style, double_precision), global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: dict[str, float],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Write several numbers that are shown in one plot, each to a file of its own."""
        walltime = time.time() if walltime is None else walltime
        parent = self._get_file_writer().get_logdir()
        for tag, value in tag_scalar_dict.items():
            name = f"{parent}/{main_tag.replace('/', '_')}_{tag}"
            if name not in self.all_writers:
                self.all_writers[name] = self._new_writer(name)
            self.all_writers[name].add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_tensor(self, tag: str, tensor: Any, global_step: int | None = None, walltime: float | None = None) -> None:
        """Write a tensor."""
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: int | None = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Write the distribution of `values`; `bins` as NumPy's histogram takes them, or "tensorflow"."""
        bins = self.default_bins if isinstance(bins, str) and bins == "tensorflow" else bins
        self._add(summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: float,
        sum: float,
        sum_squares: float,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Write a histogram that was counted elsewhere."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        made = summary.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._add(made, global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Write an image; bytes, or floats from 0 to 1. Needs `pillow`."""
        self._add(summary.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Write several images as one. Needs `pillow`."""
        self._add(summary.image(tag, img_tensor, dataformats), global_step, walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: int | None = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """Write a matplotlib figure, or a list of them, as an image."""
        letters = "NCHW" if isinstance(figure, list) else "CHW"
        self._add(summary.image(tag, summary.figure_to_image(figure, close), letters), global_step, walltime)

    def add_text(
        self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Write a text."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Write the precision and the recall of predictions between 0 and 1."""
        self._add(summary.pr_curve(tag, labels, predictions, num_thresholds, weights), global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Write a curve of precision and recall that is known already. `weights` are not used, as in PyTorch."""
        made = summary.pr_curve_raw(
            tag, true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts, precision,
            recall, num_thresholds,
        )  # fmt: skip
        self._add(made, global_step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: int | None = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Write sound of one channel, from -1 to 1."""
        self._add(_media.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: int | None = None,
        fps: float = 4,
        walltime: float | None = None,
    ) -> None:
        """Write moving pictures (N, T, C, H, W): bytes, or floats from 0 to 1. Needs `pillow`, and not moviepy."""
        self._add(_media.video(tag, vid_tensor, fps), global_step, walltime)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: list[str] | None = None,
    ) -> None:
        """Write an image with rectangles (N, 4) of left, top, right and bottom, in red. Needs `pillow`."""
        if isinstance(labels, str):
            labels = [labels]
        made = _media.boxes(tag, img_tensor, box_tensor, rescale, dataformats, labels)
        self._add(made, global_step, walltime)

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: dict[str, Any] | None = None,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Write points in space (B, N, 3), with colors and triangles if there are any."""
        self._add(_media.mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)

    def add_custom_scalars(self, layout: dict[str, dict[str, Any]]) -> None:
        """Say which scalars stand in one chart: category -> title -> ("Multiline" or "Margin", tags)."""
        self._add(_media.custom_scalars(layout), None, None)

    def add_custom_scalars_multilinechart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Put several scalars into one chart."""
        self._add(_media.custom_scalars({category: {title: ("Multiline", tags)}}), None, None)

    def add_custom_scalars_marginchart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Put three scalars into one chart: a value, and the lower and upper bound around it."""
        self._add(_media.custom_scalars({category: {title: ("Margin", tags)}}), None, None)

    def add_onnx_graph(self, prototxt: str) -> None:
        """Write the graph of an ONNX file. Needs `onnx`."""
        from mindtorch_v2.utils.tensorboard._onnx_graph import (
            graph_of,
        )  # the package onnx, which other events do without

        self._get_file_writer().add_event(Event(graph_def=graph_of(prototxt).SerializeToString()))

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Write the hyperparameters of a run and the metrics it reached, in a directory `run_name` (the time, if None)."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        made = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        run = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(log_dir=run) as writer:
            for part in made:
                writer.file_writer.add_summary(part, global_step)
            for name, value in metric_dict.items():
                writer.add_scalar(name, value, global_step)

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """Write the graph of `model(*input_to_model)`, as `torch.jit.trace` sees it."""
        from mindtorch_v2.utils.tensorboard._graph import graph  # the tracer, which other events do without

        made, metadata = graph(model, input_to_model, verbose, use_strict_trace)
        writer = self._get_file_writer()
        writer.add_event(Event(graph_def=made.SerializeToString()))
        tagged = TaggedRunMetadata(tag="step1", run_metadata=metadata.SerializeToString())
        writer.add_event(Event(tagged_run_metadata=tagged))

    def add_embedding(
        self,
        mat: Any,
        metadata: Any = None,
        label_img: Any = None,
        global_step: int | None = None,
        tag: str = "default",
        metadata_header: Any = None,
    ) -> None:
        """Write the rows of `mat` (n, d) for the projector, with a label each and images (n, c, h, w), if given.

        AssertionError where there are not as many labels or images as rows.
        """
        from mindtorch_v2.utils.tensorboard import _embedding  # the projector's messages, likewise

        mat = torch.as_tensor(mat)
        if mat.ndim != 2:
            raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
        for what, given in (("#labels", metadata), ("#images", label_img)):
            if given is not None and len(given) != len(mat):
                raise AssertionError(f"{what} should equal with #data points")
        step = 0 if global_step is None else global_step
        name = tag.replace("%", "%25").replace("/", "%2f").replace("\\", "%5c")  # one folder
        place = f"{step:05d}/{name}"
        folder = Path(self._get_file_writer().get_logdir()) / place
        if folder.exists():
            print("warning: Embedding dir exists, did you set global_step for add_embedding()?")
        folder.mkdir(parents=True, exist_ok=True)
        _embedding.write_vectors(mat, folder)
        if metadata is not None:
            _embedding.write_labels(metadata, folder, metadata_header)
        if label_img is not None:
            _embedding.write_sprite(torch.as_tensor(label_img), folder)
        self._projector = getattr(self, "_projector", "") + _embedding.entry(
            metadata, label_img, place, f"{tag}:{step:05d}"
        )
        (folder.parents[1] / "projector_config.pbtxt").write_text(self._projector)

    def flush(self) -> None:
        """Write out what is waiting."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Write out what is waiting and close the files; a later event begins new ones."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
