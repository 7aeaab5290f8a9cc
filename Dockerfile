# pliant with the virtual lab, the viewer, batches and ROS 2, for who wants nothing installed. Not built by any test.
#
#   docker build -t pliant .
#   docker run --rm pliant
#   docker run --rm -v "$PWD:/work" pliant plan ring --out ring.plan
#   docker run --rm -v "$PWD:/work" -p 127.0.0.1:8080:8080 pliant view ring.plan --host 0.0.0.0 --no-browser
FROM python:3.12-slim

# Photographs of lab runs are drawn by EGL without a screen; everything else needs no library of the system.
RUN apt-get update && apt-get install --yes --no-install-recommends libegl1 && rm -rf /var/lib/apt/lists/*
ENV MUJOCO_GL=egl

WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE CHANGELOG.md ./
COPY src src
RUN pip install --no-cache-dir --constraint constraints.txt '.[all]' && rm -rf /build

# What is compiled and prepared lies where the user of the image may write.
RUN useradd --create-home pliant && mkdir /work && chown pliant /work
USER pliant
ENV PLIANT_CACHE=/home/pliant/.cache/pliant NUMBA_CACHE_DIR=/home/pliant/.cache/numba OPENBLAS_NUM_THREADS=1
WORKDIR /work
# The inner loops are compiled into the image, so that the first plan in a container does not wait for them.
RUN pliant plan ball --effort quick --out /tmp/ball.plan && rm /tmp/ball.plan

ENTRYPOINT ["pliant"]
CMD ["doctor"]
